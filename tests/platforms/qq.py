"""Runs the official client of QQ's bots against the stand-in: qq.py ADDRESS APP_ID SECRET. It prints a line of JSON for each event."""

import base64
import json
import sys

import aiohttp
import botpy
from botpy.http import Route

address, app_id, secret = sys.argv[1:]
Route.SCHEME, Route.DOMAIN = address.split("://")

# The client has a fixed address for tokens.
post = aiohttp.ClientSession.post
aiohttp.ClientSession.post = lambda self, url, **more: post(self, url.replace("https://bots.qq.com", address), **more)


def tell(**line):
    print(json.dumps(line), flush=True)


class Bot(botpy.Client):
    async def on_ready(self):
        tell(ready=self.robot.name)

    async def on_resumed(self):
        tell(resumed=True)

    async def on_group_at_message_create(self, message):
        tell(got=message.content, group=message.group_openid, user=message.author.member_openid, id=message.id)
        keyboard = {
            "content": {
                "rows": [
                    {
                        "buttons": [
                            {
                                "id": "1",
                                "render_data": {"label": "Yes", "visited_label": "Yes", "style": 1},
                                "action": {"type": 1, "permission": {"type": 2}, "data": "yes"},
                            }
                        ]
                    }
                ]
            }
        }
        sent = await message.reply(msg_type=2, markdown={"content": "**May I?**"}, keyboard=keyboard, msg_seq=1)
        tell(sent=sent["id"])

    async def on_c2c_message_create(self, message):
        tell(got=message.content, user=message.author.user_openid, id=message.id)
        sent = await message.reply(content=f"echo {message.content}", msg_seq=1)
        tell(sent=sent["id"])
        try:
            await message.reply(content="again", msg_seq=1)
        except Exception as error:
            tell(refused=str(error))
        # The client itself sends only files at URLs; the field for the data is in QQ's documentation.
        route = Route("POST", "/v2/users/{openid}/files", openid=message.author.user_openid)
        data = base64.b64encode(b"picture").decode()
        media = await self.api._http.request(route, json={"file_type": 1, "file_data": data, "srv_send_msg": False})
        await message.reply(msg_type=7, media=media, msg_seq=2)
        tell(media=media["file_info"])

    async def on_interaction_create(self, interaction):
        await self.api.on_interaction_result(interaction.id, 0)
        tell(pressed=interaction.data.resolved.button_data, by=interaction.group_member_openid)


intents = botpy.Intents(public_messages=True, interaction=True)
Bot(intents=intents, log_level=40, bot_log=None).run(appid=app_id, secret=secret)
