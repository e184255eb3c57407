//! Addresses from which users logged in to their accounts.

use std::net::IpAddr;

use crate::support::{DAY_MS, add_user, store};

fn address(last: u8) -> IpAddr {
    IpAddr::from([192, 0, 2, last])
}

#[tokio::test]
async fn an_address_is_known_for_the_account_that_logged_in_there() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    add_user(&store, "bob").await;
    store.remember_login_address(ann.id, address(1)).await.unwrap();
    store.remember_login_address(ann.id, address(1)).await.unwrap();
    assert!(store.is_login_address("ann", address(1)).await.unwrap());
    for (name, last) in [("ann", 2), ("bob", 1), ("nobody", 1), ("", 1)] {
        assert!(!store.is_login_address(name, address(last)).await.unwrap(), "{name} {last}");
    }
    clock.advance(91 * DAY_MS);
    assert!(!store.is_login_address("ann", address(1)).await.unwrap(), "the login was too long ago");
    store.remember_login_address(ann.id, address(1)).await.unwrap();
    store.remove_user("ann").await.unwrap();
    add_user(&store, "ann").await;
    assert!(!store.is_login_address("ann", address(1)).await.unwrap(), "it is a different account");
}

#[tokio::test]
async fn only_those_used_last_are_kept() {
    let (store, clock) = store().await;
    let ann = add_user(&store, "ann").await;
    for last in 0..40 {
        clock.advance(1);
        store.remember_login_address(ann.id, address(last)).await.unwrap();
        clock.advance(1);
        store.remember_login_address(ann.id, address(0)).await.unwrap();
    }
    let mut known = Vec::new();
    for last in 0..40 {
        if store.is_login_address("ann", address(last)).await.unwrap() {
            known.push(last);
        }
    }
    let expected: Vec<u8> = std::iter::once(0).chain(25..40).collect();
    assert_eq!(known, expected);
}
