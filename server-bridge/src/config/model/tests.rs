use super::*;

fn settings(values: &[(&str, &str)]) -> Settings {
    Settings::parse("", "", values.iter().copied()).unwrap()
}

fn load(values: &[(&str, &str)]) -> Result<ModelsConfig, ConfigError> {
    models_config(&ModelArgs::default(), &settings(values))
}

const NAMED: [(&str, &str); 2] = [("SANDBRIDGE_LLM_MODEL", "m"), ("SANDBRIDGE_LLM_PROVIDER", "anthropic")];

#[test]
fn a_named_model_needs_a_provider_and_no_key() {
    assert!(load(&[("SANDBRIDGE_LLM_PROVIDER", "openai")]).unwrap().server.is_none());
    let error = load(&[("SANDBRIDGE_LLM_MODEL", "m")]).unwrap_err().to_string();
    assert!(error.contains("llm_provider"), "{error}");
    let (server, key) = load(&NAMED).unwrap().server.unwrap();
    assert_eq!((server.address(), key), ("https://api.anthropic.com", None));
    let bad = [&NAMED[..], &[("SANDBRIDGE_LLM_MAX_TOKENS", "0")]].concat();
    assert!(load(&bad).unwrap_err().to_string().contains("llm_max_tokens"));
}

#[test]
fn the_server_has_a_model_for_each_tier_with_its_price() {
    let values = [
        &NAMED[..],
        &[
            ("SANDBRIDGE_LLM_MODEL_SWIFT", "s"),
            ("SANDBRIDGE_LLM_PRICE", "m=3/15/0.3/3.75, s=1/5"),
            ("SANDBRIDGE_LLM_FALLBACK", "swift"),
            ("SANDBRIDGE_LLM_WINDOW_TOKENS", "8000"),
        ],
    ]
    .concat();
    let (server, _) = load(&values).unwrap().server.unwrap();
    let price = |tier| server.models[&tier].price.unwrap();
    assert_eq!((price(Tier::Balance).cache_write, price(Tier::Swift).output), (Some(3.75), 5.0));
    assert_eq!((server.tier(), server.fallback.as_deref()), (Tier::Balance, Some("server/swift")));
    assert_eq!(server.models[&Tier::Swift].window_tokens(), 8000);
    for bad in ["m", "m=1", "m=1/x", "m=1/-2", "m=1/2/3/4/5", "m=1/inf"] {
        let values = [&NAMED[..], &[("SANDBRIDGE_LLM_PRICE", bad)]].concat();
        assert!(load(&values).unwrap_err().to_string().contains("llm_price"), "{bad}");
    }
}

#[test]
fn patience_and_limits_are_the_references_unless_set() {
    let models = load(&[]).unwrap();
    assert_eq!((models.patience, models.deadlines), (Patience::default(), Deadlines::default()));
    assert_eq!(models.patience.attempts, 5);
    let models = load(&[
        ("SANDBRIDGE_LLM_RETRY_ATTEMPTS", "2"),
        ("SANDBRIDGE_LLM_RETRY_DELAY_MS", "10"),
        ("SANDBRIDGE_LLM_RETRY_TIMEOUT_MS", "100"),
        ("SANDBRIDGE_TURNS_AT_ONCE", "3"),
        ("SANDBRIDGE_LLM_PRIVATE", "on"),
    ])
    .unwrap();
    assert_eq!((models.patience.attempts, models.patience.pause), (2, Duration::from_millis(10)));
    assert_eq!(models.deadlines.whole, Duration::from_millis(500));
    assert_eq!((models.turns_at_once, models.private_addresses), (3, true));
    assert!(load(&[("SANDBRIDGE_LLM_PRIVATE", "maybe")]).is_err());
}

#[test]
fn the_key_comes_from_a_file_or_the_environment_and_is_never_shown() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), "sk-secret\n").unwrap();
    let flags = ModelArgs { llm_api_key_file: Some(file.path().to_owned()), ..ModelArgs::default() };
    let values = settings(&[&NAMED[..], &[("SANDBRIDGE_LLM_API_KEY", "sk-other")]].concat());
    let models = models_config(&flags, &values).unwrap();
    assert!(!format!("{models:?}").contains("sk-"), "{models:?}");
    assert_eq!(models.server.unwrap().1.unwrap().0, "sk-secret");
    let models = models_config(&ModelArgs::default(), &values).unwrap();
    assert_eq!(models.server.unwrap().1.unwrap().0, "sk-other");
    fs::write(file.path(), " \n").unwrap();
    assert!(models_config(&flags, &values).is_err());
}

#[test]
fn a_text_that_could_be_guessed_seals_nothing() {
    let key = |text| encryption_key(&ModelArgs::default(), &settings(&[("SANDBRIDGE_ENCRYPTION_KEY", text)]));
    let error = key("hunter2").unwrap_err().to_string();
    assert!(!error.contains("hunter2"), "{error}");
    assert!(key("0123456789abcdef").unwrap().is_some());
    assert!(key("").unwrap().is_none());
}
