/** Explains how far the tables can be trusted. */
export const notes = `## How fair this is

- All models are fakes without latency. Each implements the model interface of its framework, and all give the same answers: one tool call
  per turn, then an answer with the workload's number of deltas. A real model takes a thousand times longer than any figure here; the
  figures show how much of a core is left for other runs.
- Each side counts its model calls, tool executions and deltas, and each answer is compared; a round in which one is missing fails.
- No side uses tracing, telemetry, a database or the network. The AI SDK and OpenAI Agents get plain JSON Schema for the tool, which they do
  not validate and which is their fastest way; the other frameworks get zod, and Troupe validates JSON Schema.
- The hand-written loop parses arguments and sums tokens; it does not validate, gives no guarantees, and calls a model that answers in one
  promise. Troupe has one model interface, a stream, and pays for it even if nothing streams. If the loop's figure is below the one in the
  budget, this loop is lighter than the one that the budget was set for: then the ratio is stricter than the time.
- AI SDK: \`generateText\` and \`streamText\`, without its agent class. The streams of its fake model have all parts from the start, which was
  faster than sending them one by one.
- OpenAI Agents: a \`Runner\` with tracing disabled; a native handoff.
- LangGraph: \`createAgent\`, streamed with \`streamMode: 'messages'\`, no checkpointer; the transfer is a graph of two such agents and a
  tool that returns a \`Command\` to the parent graph.
- Mastra: an \`Agent\` without a \`Mastra\` instance and without memory, on the same fake model as the AI SDK.
- ADK: \`InMemoryRunner.runEphemeral\`; for the prior messages a session service that returns them without copying, which is cheaper than its
  own; a native transfer.
- AI SDK and Mastra have agents as tools, after which the first agent continues. This is not a transfer, so they have no figure in that row.
- The cost of a prior message is the difference between a run with 1,000 of them and a run with none, divided by 1,000. The difference is
  small for the fast sides, so its ratio is the least certain of all.
- The seven sequential workloads of a side run one after the other in one process, as they would in a server. The 1,000 concurrent runs are
  the first thing that a fresh process does, and the peak memory is its maximum until then, with the framework loaded; measured in this way,
  the AI SDK has the figures that the budget was set for. The row below is the same process when it is warm.
- Troupe is first packed and installed into its own folder, as a user would install it.
- Import is wall-clock time, in a fresh process with the files in the system's cache.
- Installed sizes are bytes of files: for Troupe, the packed packages in an empty folder; for the others, the packages in the lockfile that
  each needs, including required peers, with install scripts off.

## What is not held, and why

Four budgets are not held as ratios. Their hand-written figures were 0.8, 1.8 and 2.5 µs and 41 ms; this loop takes a third to two fifths of
that, because it is lighter than the one they were set for, or the machine is faster. By time, three of the four have room, and the fourth
misses by a hundredth. Troupe reads a model as a stream in every row: compared with a loop that also does, an awaited turn takes 3.2 times
as long. \`node bench/peers/src/profile.mjs <workload>\` shows where the time goes:

| workload | kernel | chat-model | flow | engine and Node | garbage | model of the bench |
|---|---|---|---|---|---|---|
| \`turn\` | 46 % | 23 % | | 20 % | 4 % | 8 % |
| \`tools\` | 30 % | 50 % | | 12 % | 3 % | 5 % |
| \`transfer\` | 35 % | 26 % | 17 % | 15 % | 4 % | 3 % |
| \`concurrent\` | 26 % | 36 % | | 22 % | 14 % | 2 % |

No function takes more than an eighth of any row.

- **One turn**: there are seven events with their stamps, and eight async functions from the reader to the model, where the loop has three.
  Ten times this loop would be 2.7 µs. That would take a run without \`run-start\` and \`run-end\`, or a model interface that may answer without
  a stream; neither is worth a second path.
- **Ten tools**: the loop parses the arguments and calls the tool. Troupe validates a call, announces it, waits for the consumer, wraps it,
  limits its time, gives it exactly one result and a name for replay. 5.56 times would be 3.7 µs.
- **Transfer**: the loop calls two models and makes no tool call. In Troupe a transfer is a tool call like any other, by an agent with a
  start and an end, to another agent that sees a history made for it. Eight times this loop is 6.0 µs, less than two bare turns take: that
  would need a router that is not an agent.
- **1,000 concurrent runs** are the first thing the process does: most of the time goes to code that runs for the first time, which the
  engine interprets. The same runs take a quarter of the time once the process is warm. Three times this loop would be 51 ms; that would
  need less code in the path of a run, as would the other three rows.
`
