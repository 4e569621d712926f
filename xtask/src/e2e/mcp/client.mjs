import { readFileSync } from "node:fs"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"

const client = new Client({ name: "e2e", version: "1" })
const server = { command: process.argv[2], args: ["mcp", "--all-tools"], env: process.env }
await client.connect(new StdioClientTransport(server))
const call = (name, args) => client.callTool({ name, arguments: args })
const { tools } = await client.listTools()
const timeline = await call("herma_timeline", {})
const refusal = await call("herma_undo", {})
const undo = await call("herma_undo", { last_prompt: true })
const prompt = await client.getPrompt({ name: "undo", arguments: {} })
const { contents } = await client.readResource({ uri: `herma://status${process.cwd()}` })
const answers = {
  tools: tools.length,
  server: client.getServerVersion()?.name === "herma",
  timeline: timeline.structuredContent?.rows?.[0]?.number === 1,
  refusal: refusal.isError === true,
  undo: !undo.isError && readFileSync("a.txt", "utf8") === "one\n",
  prompt: prompt.messages.length > 0,
  resource: JSON.parse(contents[0].text).schema?.startsWith("herma."),
}
console.log(JSON.stringify(answers))
await client.close()
