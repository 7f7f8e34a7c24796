"""An agent asks a memory over MCP (extra ``mcp``): the tools it sees, a question, and an honest "not found".

An agent program of yours runs ``lastseen mcp home.lastseen`` by itself; here both ends are in one process.

    python examples/06_ask_with_an_agent.py
"""

from __future__ import annotations

import asyncio

import mcp

import lastseen
from lastseen.server.mcp_server import create_mcp
from lastseen.server.service import Service


async def converse(memory: lastseen.Memory) -> None:
    """What an agent would do."""
    async with mcp.Client(create_mcp(lambda: Service(memory))) as client:
        tools = (await client.list_tools()).tools
        print("tools:", ", ".join(tool.name for tool in tools if not tool.name.startswith("rtsm.")))
        for tool, arguments in (("ask", {"question": "where are the keys?"}), ("find_object", {"query": "violin"})):
            answer = (await client.call_tool(tool, arguments)).structured_content or {}
            print(f"{tool} {arguments}: {answer.get('sentence') or answer.get('reason')}")


with lastseen.open() as memory:
    memory.tell("the keys are on the hook", position=(1.0, 2.0, 1.4))
    asyncio.run(converse(memory))
