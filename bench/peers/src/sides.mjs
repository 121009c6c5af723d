/** The measured sides: the name of the file in sides/, and the name in the tables. */
export const sides = {
  'hand-written': 'hand-written',
  troupe: 'Troupe',
  'ai-sdk': 'AI SDK',
  'openai-agents': 'OpenAI Agents',
  langgraph: 'LangGraph',
  mastra: 'Mastra',
  adk: 'ADK',
}

/** Variables that packages read when they are loaded: no tracing, no telemetry, no network. */
export const quiet = {
  DO_NOT_TRACK: '1',
  LANGCHAIN_TRACING_V2: 'false',
  LANGSMITH_TRACING: 'false',
  MASTRA_TELEMETRY_DISABLED: '1',
  NODE_ENV: 'production',
  OPENAI_AGENTS_DISABLE_TRACING: '1',
  OPENAI_API_KEY: 'none',
  OTEL_SDK_DISABLED: 'true',
}
