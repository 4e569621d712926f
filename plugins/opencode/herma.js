import { spawn } from "node:child_process"

const COMMAND = ["herma", "hook", "opencode"]
const AGENT = "opencode"
const LIMIT_MS = 20000

// Resolves to what Herma answers, which is nothing but for a prompt.
const tell = (name, payload) =>
  new Promise((resolve) => {
    let answer = ""
    const done = () => {
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve({})
      }
    }
    try {
      const text = JSON.stringify({ agent: AGENT, ...payload })
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), name], { stdio: ["pipe", "pipe", "ignore"] })
      child.stdout.on("data", (chunk) => (answer += chunk))
      const limit = setTimeout(() => {
        try {
          child.kill("SIGKILL")
        } catch {}
        done()
      }, LIMIT_MS)
      const end = () => {
        clearTimeout(limit)
        done()
      }
      child.on("error", end)
      child.on("close", end)
      child.stdin.on("error", () => {})
      child.stdin.end(text)
    } catch {
      done()
    }
  })

// Tells Herma what happens, so that it can be undone. Throws at no tool and never waits for long: the agent would fail the
// tool, or hang.
const EVENTS = ["session.created", "session.idle", "session.error", "session.deleted"]

export const Herma = async ({ project, directory, worktree }) => {
  const base = { directory, worktree, project: project?.id }
  // A sub-agent is a session of its own, and only its beginning says whose. What counts is the person's.
  const parents = new Map()
  const about = (session) => ({ ...base, parent_session_id: parents.get(session) })
  // No hook tells of a call that failed, was refused or was broken off; the bus does.
  const running = new Map()
  const key = (call) => `${call?.sessionID} ${call?.callID}`
  const ended = (input) => tell("tool.execute.after", { hook: "tool.execute.after", ...about(input?.sessionID), input })
  return {
    "chat.message": async (input, output) => {
      const parts = (output?.parts ?? []).filter((part) => part?.type === "text")
      const answer = await tell("chat.message", { hook: "chat.message", ...about(input?.sessionID), input, output: { message: output?.message, parts } })
      if (typeof answer?.stop === "string") {
        // Somebody typed a command that Herma has carried out. The agent shows what is thrown here, and asks no model.
        throw new Error(answer.stop)
      }
      const last = output?.parts?.at(-1)
      if (typeof answer?.context === "string" && last?.id) {
        // Parts are put in the order of their ids.
        const { sessionID, messageID } = last
        output.parts.push({ id: last.id + "0", sessionID, messageID, type: "text", text: answer.context, synthetic: true })
      }
    },
    "tool.execute.before": async (input, output) => {
      running.set(key(input), { ...input, args: output?.args })
      await tell("tool.execute.before", { hook: "tool.execute.before", ...about(input?.sessionID), input, output: { args: output?.args } })
    },
    "tool.execute.after": async (input) => {
      running.delete(key(input))
      await ended(input)
    },
    event: async ({ event }) => {
      const session = event?.properties?.info
      if (event?.type === "session.created" && session?.parentID) {
        parents.set(session.id, parents.get(session.parentID) ?? session.parentID)
      }
      const part = event?.type === "message.part.updated" ? event.properties?.part : undefined
      const input = running.get(key(part))
      if (input && part.state?.status === "error") {
        running.delete(key(part))
        await ended(input)
      }
      if (EVENTS.includes(event?.type)) {
        const { sessionID, info } = event.properties ?? {}
        await tell(event.type, { hook: "event", ...about(sessionID ?? info?.id), event })
      }
    },
  }
}
