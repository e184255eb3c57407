//! The official clients of messengers against the stand-ins that the tests of our own clients use: a stand-in counts only while they
//! accept it.

mod dingtalk;
mod feishu;
mod onebot;
mod qq;
mod wecom;
