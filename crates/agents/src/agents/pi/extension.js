// Tells Herma what happens, so that it can be undone. Never throws and never waits for long: Pi would refuse the tool,
// or hang.
export default function (pi) {
  const on = (event, more) =>
    pi.on(event, async (input, context) => {
      try {
        const session_id = context?.sessionManager?.getSessionId?.()
        await tell(event, { event, session_id, cwd: context?.cwd, ...more(input) })
      } catch {}
    })
  const call = (input) => ({ tool_name: input?.toolName, tool_call_id: input?.toolCallId })
  on("session_start", () => ({}))
  on("session_shutdown", () => ({}))
  on("before_agent_start", (input) => ({ prompt: input?.prompt }))
  on("agent_settled", () => ({}))
  on("tool_call", (input) => ({ ...call(input), tool_input: input?.input }))
  // It also comes when the tool failed or another extension refused it, and when the person broke it off.
  on("tool_execution_end", call)
}
