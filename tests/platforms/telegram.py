"""Runs aiogram against the stand-in of Telegram: telegram.py URL TOKEN. Prints each event as a line of JSON."""

import asyncio
import json
import sys

from aiogram import Bot, Dispatcher, F
from aiogram.client.session.aiohttp import AiohttpSession
from aiogram.client.telegram import TelegramAPIServer
from aiogram.exceptions import (
    TelegramBadRequest,
    TelegramConflictError,
    TelegramForbiddenError,
    TelegramMigrateToChat,
    TelegramNetworkError,
    TelegramRetryAfter,
    TelegramUnauthorizedError,
)
from aiogram.types import BufferedInputFile, InlineKeyboardButton, InlineKeyboardMarkup, Message, MessageEntity


def say(**what):
    print(json.dumps(what), flush=True)


def bot_of(url, token):
    return Bot(token, session=AiohttpSession(api=TelegramAPIServer.from_base(url)))


async def error_of(call):
    try:
        await call
        return "none"
    except TelegramRetryAfter as error:
        return f"retry after {error.retry_after}"
    except TelegramMigrateToChat as error:
        return f"migrate to {error.migrate_to_chat_id}"
    except (TelegramBadRequest, TelegramConflictError, TelegramForbiddenError, TelegramUnauthorizedError, TelegramNetworkError) as error:
        return type(error).__name__


async def main(url, token):
    bot = bot_of(url, token)
    me = await bot.get_me()
    say(me=me.username, id=me.id)
    dispatcher = Dispatcher()

    @dispatcher.message(F.photo)
    async def photo(message: Message):
        data = await bot.download(message.photo[-1])
        say(photo=data.read().decode(), caption=message.caption)
        sent = await message.answer_document(BufferedInputFile(b"\x00\xffreport", "report.bin"))
        say(document=sent.document.file_name)

    @dispatcher.message()
    async def said(message: Message):
        say(text=message.text, sender=message.from_user.id, chat=message.chat.type, entities=[entity.type for entity in message.entities or []])
        keyboard = InlineKeyboardMarkup(inline_keyboard=[[InlineKeyboardButton(text="Yes", callback_data="yes-1")]])
        sent = await bot.send_message(
            message.chat.id,
            "😀 bold",
            entities=[MessageEntity(type="bold", offset=3, length=4)],
            reply_markup=keyboard,
        )
        say(sent=sent.text, entities=[[entity.type, entity.offset, entity.length] for entity in sent.entities])

    @dispatcher.edited_message()
    async def edited(message: Message):
        say(edited=message.text)

    @dispatcher.callback_query()
    async def pressed(query):
        await query.answer("done")
        changed = await query.message.edit_text("changed")
        say(pressed=query.data, changed=changed.text)
        await dispatcher.stop_polling()

    await dispatcher.start_polling(bot, handle_signals=False, close_bot_session=False, polling_timeout=5)
    say(too_fast=await error_of(bot.send_message(5, "x")))
    say(long=await error_of(bot.send_message(5, "x" * 4097)))
    say(closed=await error_of(bot.send_message(6, "x")))
    say(moved=await error_of(bot.send_message(-7, "x")))
    one = asyncio.create_task(error_of(bot.get_updates(timeout=20)))
    await asyncio.sleep(0.5)
    two = asyncio.create_task(error_of(bot.get_updates(timeout=1)))
    say(first_poller=await one, second_poller=await two)
    await bot.session.close()
    stranger = bot_of(url, "1:AAAAAAAAAAAAAAAAAAAAAAAA")
    say(stranger=await error_of(stranger.get_me()))
    await stranger.session.close()


asyncio.run(main(*sys.argv[1:]))
