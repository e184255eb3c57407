"""Runs the official client of DingTalk against the stand-in at DINGTALK_OPENAPI_ENDPOINT: dingtalk.py CLIENT_ID SECRET. It prints a line of
JSON for each event."""

import json
import sys

import dingtalk_stream
from dingtalk_stream import AckMessage, ChatbotHandler, ChatbotMessage

client_id, secret = sys.argv[1:]


def tell(**line):
    print(json.dumps(line), flush=True)


class Handler(ChatbotHandler):
    async def process(self, callback):
        message = ChatbotMessage.from_dict(callback.data)
        tell(got=message.get_text_list(), user=message.sender_staff_id, kind=message.conversation_type, id=message.message_id)
        if message.message_type == "picture":
            tell(url=self.get_image_download_url(message.get_image_list()[0]))
            return AckMessage.STATUS_OK, "OK"
        tell(text=self.reply_text("echo", message))
        tell(markdown=self.reply_markdown("title", "**echo**", message))
        tell(long=self.reply_text("x" * 20_001, message))
        return AckMessage.STATUS_OK, "OK"


client = dingtalk_stream.DingTalkStreamClient(dingtalk_stream.Credential(client_id, secret))
client.register_callback_handler(ChatbotMessage.TOPIC, Handler())
client.start_forever()
