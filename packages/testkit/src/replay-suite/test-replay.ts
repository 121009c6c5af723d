import type { Agent, AgentInput, Answers, Interrupt, ResumeInfo } from '@troupe/kernel'
import { checkOptionNames } from '@troupe/kernel/kit'
import type { RunSettings } from '@troupe/kernel/run'
import { type Clause, register } from '../clause.ts'
import { demand, demandEqual, shown } from '../fault.ts'
import { madeBy } from '../suite/made-by.ts'
import { resumption } from '../suite/resumption.ts'
import type { SavedTape } from '../tape/saved-tape.ts'
import { tape } from '../tape/tape.ts'
import { demandSameRun } from './compare-runs.ts'
import { isInside } from './inside-step.ts'
import { type PlayedRun, playRun } from './played-run.ts'
import { RedoneSteps } from './redone-steps.ts'

/** Options of `testReplay`: the input of the run, its settings and answers. */
export interface TestReplayOptions {
  /** @default one user message */
  readonly input?: AgentInput
  /** Settings of its runs, for example values in the context. */
  readonly settings?: Omit<RunSettings, 'runId'>
  /** Answers the questions of a run that is interrupted; the resumed run is tested too. */
  readonly answer?: (interrupts: readonly Interrupt[]) => Answers
}

/**
 * Tests that a run of an agent can be recorded, replayed, and continued from every step, as after a crash.
 * Contract: `make` makes everything anew, as another process would: the agent, its handlers, its tools and its model, which answers by step.
 * @example testReplay('weather', () => chatModelAgent({ name: 'weather', model: scriptedModel({ 'model:0': 'Sunny.' }) }))
 */
export function testReplay(name: string, make: () => Agent, options: TestReplayOptions = {}): void {
  checkOptionNames('testReplay', options, { input: true, settings: true, answer: true })
  register(name, replayClauses(make, options))
}

/** The recorded run that a clause is about. */
interface Recording {
  readonly start: AgentInput | ResumeInfo
  readonly run: PlayedRun
  readonly tape: SavedTape
}

const HOUR_MS = 3_600_000

export function replayClauses(factory: () => Agent, options: TestReplayOptions = {}): readonly Clause[] {
  const { settings = {}, answer } = options
  const input = options.input ?? { messages: [{ id: 'u1', role: 'user', content: 'Hello' }] }
  const make = () => madeBy(factory, 'agent')
  const recordingOf = async (start: AgentInput | ResumeInfo): Promise<Recording> => {
    const on = tape()
    const run = await playRun(make(), start, settings, on)
    return { start, run, tape: JSON.parse(JSON.stringify(on)) }
  }
  const resumed = async (answer: NonNullable<TestReplayOptions['answer']>) => {
    const { run } = await recordingOf(input)
    const events = run.events.map(({ event }) => event)
    return recordingOf(resumption('testReplay', input.messages, events, answer))
  }
  const play = ({ start }: Recording, on: Parameters<typeof playRun>[3]) =>
    playRun(make(), start, settings, on, HOUR_MS)
  return [
    ...clausesOf('a run', () => recordingOf(input), play),
    ...(answer ? clausesOf('the resumed run', () => resumed(answer), play) : []),
  ]
}

function clausesOf(
  what: string,
  record: () => Promise<Recording>,
  play: (recording: Recording, on: Parameters<typeof playRun>[3]) => Promise<PlayedRun>,
): readonly Clause[] {
  let seen = ''
  return [
    {
      name: `${what} can be recorded: each record is JSON, and each step is asked for once`,
      todo: 'Give each step of the run a name of its own, and let it give plain JSON.',
      run: async () => {
        const { run, tape } = await record()
        const { error } = run.end ?? {}
        demand(!error?.message.startsWith('tape: '), `The run failed with ${error?.code} (${error?.message})`)
        const twice = tape.steps.find(({ step }) => /~\d+$/.test(step))?.step
        demand(twice === undefined, `The step ${twice?.replace(/~\d+$/, '')} was asked for more than once`)
      },
    },
    {
      name: `${what} replayed whole shows the same, and nothing is done again`,
      todo: REPLAYED,
      run: async () => {
        const recording = await record()
        const on = tape(recording.tape, { live: false })
        const again = await play(recording, on)
        const { error } = again.end ?? {}
        const missing = error?.code === 'TAPE_STEP_MISSING' ? error.message.replace('tape: the run', 'it') : ''
        demand(missing === '', `Replayed whole, the run goes another way: ${missing}`)
        demandSameRun(recording.run, again, on.steps, 'Replayed whole')
        const [left] = on.unused.filter((step) => !isInside(step, on.steps))
        demand(left === undefined, `Replayed whole, the run no longer asks for the step ${left}`)
      },
    },
    {
      name: `${what} replayed up to any step goes on to the same end`,
      todo: CONTINUED,
      seen: () => seen,
      run: async () => {
        const recording = await record()
        const { steps } = recording.tape
        if (steps.length === 0) return 'the run has no steps'
        for (let length = steps.length - 1; length >= 0; length--) {
          const how = length === 0 ? 'Done again from its start' : `Replayed up to the step ${steps[length - 1]?.step}`
          seen = `${how} (${length} of ${steps.length} steps).`
          const on = new RedoneSteps(recording.tape, length)
          const again = await play(recording, on)
          demandSameSteps(on, how)
          demandSameRun(recording.run, again, namesOf(recording.tape), how)
        }
        seen = ''
      },
    },
  ]
}

function demandSameSteps({ differing: [first] }: RedoneSteps, how: string): void {
  if (!first) return
  const { step, before, now } = first
  demand(before !== undefined, `${how}, the run does the step ${step}, which the recorded run has not: ${shown(now)}`)
  demandEqual(now, before, `${how}, the step ${step} gives something else than in the recorded run`)
}

function namesOf({ steps }: SavedTape): readonly string[] {
  return steps.map(({ step }) => step)
}

const REPLAYED =
  'Between two steps, decide by the history and the state alone. What comes from outside (the time, chance, a variable of the module, a file) is read by `ctx.perform(name, work)`. A tool that runs agents is `effect: "nested"`.'
const CONTINUED =
  'What a handler or tool counts or remembers is gone when another process goes on: take it from the history, the state or `ctx.perform`. A scripted model answers by step, `scriptedModel({ "model:0": … })`, because a list begins anew.'
