/** What a reader should know before believing the tables. */
export const notes = `## How fair this is

- All models are fakes without latency, each in the model interface of its framework, and say the same: a call of one tool per turn, then
  an answer of as many deltas as the workload says. A real model takes a thousand times longer than any figure here; what the figures
  say is how much of a core is left for other runs.
- Each side counts its model calls, tool executions and deltas, and each answer is compared; a round in which one is missing fails.
- No side has tracing, telemetry, a database or the network. The AI SDK and OpenAI Agents get plain JSON Schema for the tool, which they do
  not validate and which is their fastest way; the other frameworks get zod, and Troupe validates JSON Schema.
- The hand-written loop parses arguments and sums tokens; it validates nothing, promises nothing and calls a model that answers in one
  promise. Troupe has one model interface, a stream, and pays for it where nobody streams. This loop is lighter than the one that the
  budgets were set beside where its figure is below the one in the budget: there the ratio asks for more than the time does.
- AI SDK: \`generateText\` and \`streamText\`, without its agent class. The streams of its fake model hold all parts from the start, which was
  faster than handing them out one by one.
- OpenAI Agents: a \`Runner\` with tracing disabled; a native handoff.
- LangGraph: \`createAgent\`, streamed with \`streamMode: 'messages'\`, no checkpointer; the transfer is a graph of two such agents and a
  tool that returns a \`Command\` to the parent graph.
- Mastra: an \`Agent\` without a \`Mastra\` instance and without memory, on the same fake model as the AI SDK.
- ADK: \`InMemoryRunner.runEphemeral\`; for the prior messages a session service that hands them out without copying any, which is cheaper
  than the one it comes with; a native transfer.
- AI SDK and Mastra have agents as tools, where the first agent speaks again afterwards. That is another thing than a transfer, so they have
  none in that row.
- A prior message costs what a run on 1,000 of them takes longer than a run on none, divided by 1,000. The difference is small for the
  fast sides, and so its ratio is the least certain of all.
- The seven sequential workloads of a side run one after the other in one process, as they would in a server. The 1,000 concurrent runs
  are the first thing that a fresh process does, and the peak memory is what it has had by then, with the framework loaded: so measured
  the AI SDK shows the figures that the budget was set beside. The row below is the same process when it is warm.
- Troupe is packed and installed into a folder of its own first, as others would get it.
- Import is by the wall clock, in a fresh process with the files in the cache of the system.
- Installed sizes are bytes of files: ours of the packed packages in an empty folder, theirs of the packages each needs among those in
  the lockfile, required peers included, with install scripts off.

## What is not held, and why

Four budgets are not held as ratios. Their hand-written figures were 0.8, 1.8 and 2.5 µs and 41 ms; this loop takes a third to two
fifths of that: it is lighter than the one they were set beside, or the machine is faster. By time three of the four have room, and the fourth
misses by a hundredth. Troupe reads a model as a stream in every row: beside the loop that does so, too, an awaited turn takes 3.2 times as long. By \`node bench/peers/src/profile.mjs <workload>\`:

| workload | kernel | chat-model | flow | engine and Node | garbage | model of the bench |
|---|---|---|---|---|---|---|
| \`turn\` | 46 % | 23 % | | 20 % | 4 % | 8 % |
| \`tools\` | 30 % | 50 % | | 12 % | 3 % | 5 % |
| \`transfer\` | 35 % | 26 % | 17 % | 15 % | 4 % | 3 % |
| \`concurrent\` | 26 % | 36 % | | 22 % | 14 % | 2 % |

No function has more than an eighth of any row.

- **One turn**: seven events with their stamps, and eight async functions from the reader to the model, where the loop has three. Ten times this loop
  would be 2.7 µs: a run without its own bracket, or a model interface that may answer at once. Neither is worth a second path.
- **Ten tools**: the loop parses the arguments and calls. Here a call is validated, announced, gated, wrapped, limited in time, answered once and named for
  replay. 5.56 times would be 3.7 µs.
- **Transfer**: the loop asks two models and makes no tool call. Here a transfer is a tool call like any other, by an agent with a beginning and an end,
  to another one that sees a history made for it. Eight times this loop is 6.0 µs, less than two bare turns take: it would need a router that is no agent.
- **1,000 concurrent runs** are the first thing the process does: most of it is code that runs for the first time, which the engine interprets. The
  same runs take a quarter once it is warm. Three times this loop would be 51 ms: less code on the way of a run, which is what the other three rows need, too.
`
