import { spawn } from "node:child_process"

const COMMAND = @COMMAND@
const AGENT = "@AGENT@"
const LIMIT_MS = 20000

const tell = (name, payload) =>
  new Promise((done) => {
    try {
      const text = JSON.stringify({ agent: AGENT, ...payload })
      const child = spawn(COMMAND[0], [...COMMAND.slice(1), name], { stdio: ["pipe", "ignore", "ignore"] })
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
      child.on("exit", end)
      child.stdin.on("error", () => {})
      child.stdin.end(text)
    } catch {
      done()
    }
  })

