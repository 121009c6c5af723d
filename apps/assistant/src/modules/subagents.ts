import { AgentRegistry, defineAgent } from '@troupe/subagent'
import { fileTools } from '@troupe-apps/setup'
import { type Registrations, singleton } from '../app.ts'

const investigator = defineAgent({
  name: 'codebase_investigator',
  displayName: 'Codebase investigator',
  description: 'Your primary tool for questions about the code of this project: it searches and reads many files.',
  input: { inputs: { objective: { type: 'string', description: 'What to find out.', required: true } } },
  prompt: 'You investigate a code base. Search before you read, and name files and lines.',
  tools: ['search_files', 'read_file'],
  limits: { maxTurns: 10 },
})

/** Agents that are called as tools. */
export const subagentsModule: Registrations<'subagents'> = {
  subagents: singleton(({ model, newAgent, config }) => {
    const registry = new AgentRegistry({
      factory: newAgent,
      model,
      tools: fileTools(config.folder, { maxMatches: 12, maxLines: 40 }),
    })
    registry.registerAgent(investigator)
    return registry
  }),
}
