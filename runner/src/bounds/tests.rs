//! Bounds as text and in policy files, and which ones are refused.

use super::*;

#[test]
fn sizes_and_processors_are_read_as_people_write_them() {
    for (text, bytes) in [
        ("512M", 512 << 20),
        ("4G", 4 << 30),
        ("4GiB", 4 << 30),
        ("1t", 1 << 40),
        ("100", 100),
        ("7 kb", 7 << 10),
    ] {
        assert_eq!(text.parse(), Ok(Bytes(bytes)), "{text}");
    }
    for text in ["", "G", "-1", "1.5G", "4X", "99999999999T", "1e9"] {
        assert!(text.parse::<Bytes>().is_err(), "{text}");
    }
    assert_eq!("1.5".parse(), Ok(Cpus { thousandths: 1_500 }));
    for text in ["", "two", "-1", "NaN", "inf", "1e30"] {
        assert!(text.parse::<Cpus>().is_err(), "{text}");
    }
    assert_eq!((Bytes(512 << 20).to_string(), Bytes(5).to_string()), ("512 MiB".into(), "5 bytes".into()));
    assert_eq!(Cpus { thousandths: 1_500 }.to_string(), "1.5");
}

#[test]
fn a_policy_file_says_the_same() {
    let text = r#"{"network": {"reach": "loopback", "ports": [53, 443]},
        "limits": {"memory": "1G", "pids": 100, "cpus": 0.5, "file_size": 4096}}"#;
    let bounds: Bounds = serde_json::from_str(text).unwrap();
    assert_eq!(bounds.network, Network { reach: Reach::Loopback, ports: vec![53, 443] });
    let limits = &bounds.limits;
    assert_eq!((limits.memory, limits.pids), (Some(Bytes(1 << 30)), Some(100)));
    assert_eq!((limits.cpus, limits.file_size), (Some(Cpus { thousandths: 500 }), Some(Bytes(4_096))));
    for text in [r#"{"network": {"reach": "some"}}"#, r#"{"limits": {"memory": "much"}}"#, r#"{"memory": 1}"#]
    {
        assert!(serde_json::from_str::<Bounds>(text).is_err(), "{text}");
    }
}

#[test]
fn what_cannot_work_is_refused_with_what_to_write() {
    let check = |network: Network, limits, profile| {
        Bounds { network, limits, ..Bounds::default() }.check(profile).map_err(|error| error.to_string())
    };
    let of = |reach, ports: &[u16]| Network { reach, ports: ports.to_vec() };
    let free = Limits::default;
    assert_eq!(check(of(Reach::Loopback, &[80]), free(), Profile::Workspace), Ok(()));
    for (network, limits, profile, word) in [
        (of(Reach::None, &[80]), free(), Profile::Workspace, "--allow-net"),
        (of(Reach::All, &[0]), free(), Profile::Workspace, "not a port"),
        (of(Reach::None, &[]), free(), Profile::FullControl, "full-control"),
        (of(Reach::All, &[80]), free(), Profile::FullControl, "full-control"),
        (of(Reach::All, &[]), Limits { memory: Some(Bytes(5)), ..free() }, Profile::Workspace, "--memory"),
        (of(Reach::All, &[]), Limits { pids: Some(1), ..free() }, Profile::Workspace, "--pids"),
        (
            of(Reach::All, &[]),
            Limits { cpus: Some(Cpus { thousandths: 0 }), ..free() },
            Profile::Workspace,
            "--cpus",
        ),
    ] {
        let error = check(network, limits, profile).unwrap_err();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn hosts_that_may_be_downloaded_from_are_named_without_a_port() {
    let of = |host: &str| Bounds { download_allow: vec![host.to_owned()], ..Bounds::default() };
    for (allowed, host) in [
        ("Files.internal", "files.INTERNAL"),
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "[::1]"),
        ("[fd00::1]", "[fd00::1]"),
    ] {
        assert_eq!(of(allowed).check(Profile::Workspace), Ok(()), "{allowed}");
        assert!(of(allowed).downloads_within(host) && !of(allowed).downloads_within("other"), "{allowed}");
    }
    for bad in ["", "a:80", "http://a", "a/b", "10.0.0.1:80", "*.internal", "[", "u@a"] {
        let error = of(bad).check(Profile::Workspace).unwrap_err().to_string();
        assert!(error.contains("--download-allow"), "{bad}: {error}");
    }
}
