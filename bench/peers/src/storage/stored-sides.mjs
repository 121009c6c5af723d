/** The measured sides of the storage table: the name of the file in sides/, an option of it, and the name in the table. */
export const storedSides = [
  { file: 'hand-written', last: 20, name: 'by hand, last 20' },
  { file: 'hand-written', last: 1e9, name: 'by hand, all' },
  { file: 'troupe', durability: 'turn', name: 'Troupe, `turn`' },
  { file: 'troupe', durability: 'step', name: 'Troupe, `step`' },
  { file: 'ai-sdk', name: 'AI SDK, own table' },
  { file: 'openai-agents', name: 'OpenAI Agents, own session' },
  { file: 'langgraph', name: 'LangGraph, SqliteSaver' },
  { file: 'mastra', name: 'Mastra, LibSQL, last 10' },
]

/** How many messages of former turns a thread has. */
export const LENGTHS = [0, 100, 1_000]
