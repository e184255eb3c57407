//! The official clients of messengers against the stand-ins with which our own clients are tested: a stand-in counts only if they
//! accept it.

mod dingtalk;
mod feishu;
mod onebot;
mod qq;
mod wecom;
