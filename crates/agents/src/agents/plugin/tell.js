import { spawn } from "node:child_process"

const COMMAND = @COMMAND@
const AGENT = "@AGENT@"
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

