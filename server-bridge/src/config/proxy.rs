//! The proxies in front of the server.

use std::sync::Arc;

use super::{ConfigError, Settings, split_list};
use crate::web::forwarded::{NETWORK_RULE, TrustedProxies};

/// The flags of proxies.
#[derive(Debug, Default, Clone, clap::Args)]
pub struct ProxyArgs {
    /// Addresses or networks of proxies whose X-Forwarded-For and Forwarded headers are trusted, separated by commas; may be
    /// repeated
    #[arg(long, value_name = "CIDR")]
    pub trusted_proxy: Vec<String>,
    /// Whether the trusted proxies begin each connection with a PROXY header: on or off [default: off]
    #[arg(long, value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    pub proxy_protocol: Option<String>,
}

/// Combines the flags with the files and the environment.
///
/// # Errors
/// [`ConfigError`].
pub(super) fn from_settings(
    options: ProxyArgs,
    settings: &Settings,
) -> Result<Arc<TrustedProxies>, ConfigError> {
    let networks = match options.trusted_proxy.is_empty() {
        true => settings.value("trusted_proxy").map(|list| split_list(&list)).unwrap_or_default(),
        false => options.trusted_proxy.iter().flat_map(|list| split_list(list)).collect(),
    };
    let protocol = options.proxy_protocol.or_else(|| settings.value("proxy_protocol"));
    let speaks = match protocol.as_deref() {
        None | Some("off") => false,
        Some("on") if networks.is_empty() => {
            let rule = "a PROXY header is accepted from trusted proxies only; name them with trusted_proxy";
            return Err(refused("proxy_protocol", "on", rule));
        }
        Some("on") => true,
        Some(other) => return Err(refused("proxy_protocol", other, "use on or off")),
    };
    TrustedProxies::new(&networks, speaks)
        .map(Arc::new)
        .map_err(|error| refused("trusted_proxy", &error.0, NETWORK_RULE))
}

fn refused(key: &'static str, value: &str, rule: &str) -> ConfigError {
    ConfigError::Value { key, value: value.to_owned(), rule: rule.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(
        networks: &[&str],
        protocol: Option<&str>,
        values: &[(&str, &str)],
    ) -> Result<TrustedProxies, String> {
        let options = ProxyArgs {
            trusted_proxy: networks.iter().map(|network| (*network).to_owned()).collect(),
            proxy_protocol: protocol.map(str::to_owned),
        };
        let settings = Settings::parse("", "", values.iter().copied()).unwrap();
        from_settings(options, &settings).map(|proxies| (*proxies).clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn proxies_come_from_flags_and_settings_with_commas() {
        for proxies in [
            load(&["10.0.0.0/8,192.0.2.1"], None, &[]),
            load(&["10.0.0.0/8", "192.0.2.1"], None, &[("SANDBRIDGE_TRUSTED_PROXY", "198.51.100.1")]),
            load(&[], None, &[("SANDBRIDGE_TRUSTED_PROXY", "10.0.0.0/8, 192.0.2.1")]),
        ] {
            let proxies = proxies.unwrap();
            assert!(proxies.trusts([10, 1, 1, 1].into()) && proxies.trusts([192, 0, 2, 1].into()));
            assert!(!proxies.trusts([198, 51, 100, 1].into()));
            assert!(!proxies.expects_proxy_header([10, 1, 1, 1].into()));
        }
        assert!(!load(&[], None, &[]).unwrap().trusts([127, 0, 0, 1].into()));
        let speaking = load(&["10.0.0.1"], Some("on"), &[]).unwrap();
        assert!(speaking.expects_proxy_header([10, 0, 0, 1].into()));
        assert!(!speaking.expects_proxy_header([127, 0, 0, 1].into()));
    }

    #[test]
    fn a_mistake_is_named() {
        assert!(
            load(&["10.0.0.0/99"], None, &[])
                .unwrap_err()
                .contains("trusted_proxy cannot be \"10.0.0.0/99\"")
        );
        assert!(
            load(&["0.0.0.0/0"], None, &[])
                .unwrap_err()
                .contains("not a network that contains every address")
        );
        assert!(load(&[], Some("on"), &[]).unwrap_err().contains("trusted_proxy"));
        assert!(load(&["10.0.0.1"], Some("v2"), &[]).unwrap_err().contains("on or off"));
    }
}
