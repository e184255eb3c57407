"""Runs NoneBot's adapter for OneBot 11 in our place against the stand-in of NapCat: onebot.py URL TOKEN, or onebot.py PORT TOKEN to listen.

It prints a line of JSON for each event.
"""

import json
import sys

import nonebot
from nonebot import on_message, on_notice
from nonebot.adapters.onebot.v11 import ActionFailed, Adapter, Bot, GroupMessageEvent, Message, MessageEvent, MessageSegment

where, token = sys.argv[1:]
is_forward = where.startswith("ws")
settings = {"onebot_access_token": token, "log_level": "ERROR"}
if is_forward:
    settings |= {"driver": "~websockets", "onebot_ws_urls": [where]}
else:
    settings |= {"driver": "~fastapi+~websockets", "host": "127.0.0.1", "port": int(where)}
nonebot.init(**settings)
driver = nonebot.get_driver()
driver.register_adapter(Adapter)


def tell(**line):
    print(json.dumps(line), flush=True)


@driver.on_bot_connect
async def connected(bot: Bot):
    info = await bot.get_login_info()
    tell(connected=bot.self_id, nickname=info["nickname"])


@driver.on_bot_disconnect
async def ended(bot: Bot):
    tell(ended=bot.self_id)


@on_message().handle()
async def said(bot: Bot, event: MessageEvent):
    group = event.group_id if isinstance(event, GroupMessageEvent) else 0
    tell(got=event.get_plaintext(), user=event.user_id, group=group, to_me=event.to_me, id=event.message_id)
    text = event.get_plaintext().strip()
    if text == "long":
        try:
            await bot.send(event, "x" * 5000)
        except ActionFailed as error:
            tell(refused=error.info["retcode"])
        return
    if text == "segments":
        answer = Message([MessageSegment.text("[CQ:at,qq=all]")])
    else:
        answer = f"echo {text}"
    sent = await bot.send(event, answer, reply_message=group != 0)
    tell(sent=sent["message_id"])


@on_notice().handle()
async def noticed(event):
    tell(notice=event.get_event_name())


nonebot.run()
