//! The official clients of messengers, used with the stand-ins with which our own clients are tested: a stand-in counts only if the official client
//! accepts it.

mod dingtalk;
mod feishu;
mod onebot;
mod qq;
mod wecom;
