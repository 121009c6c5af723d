import { chatModelAgent } from '@troupe/chat-model'
import type { ChatModel } from '@troupe/kernel'
import { AgentRegistry, defineAgent } from '@troupe/subagent'
import { asFunction, type Resolver } from 'awilix'
import type { Config } from '../config.ts'
import { projectFileTools } from '../tools/project-files.ts'

const investigator = defineAgent({
  name: 'codebase_investigator',
  displayName: 'Codebase investigator',
  description: 'Your primary tool for questions about the code of this project: it searches and reads many files.',
  input: { inputs: { objective: { type: 'string', description: 'What to find out.', required: true } } },
  prompt: 'You investigate a code base. Search before you read, and name files and lines.',
  tools: ['search_files', 'read_file'],
  limits: { maxTurns: 10 },
})

/** Agents that are called like tools. */
export const subagentsModule: { readonly subagents: Resolver<AgentRegistry> } = {
  subagents: asFunction(({ model, config }: { model: ChatModel; config: Config }) => {
    const registry = new AgentRegistry({ factory: chatModelAgent, model, tools: projectFileTools(config.folder) })
    registry.registerAgent(investigator)
    return registry
  }).singleton(),
}
