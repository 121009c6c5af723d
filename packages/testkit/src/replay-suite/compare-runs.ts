import type { AgentEvent } from '@troupe/kernel'
import { demandEqual } from '../fault.ts'
import { transcript } from '../record.ts'
import { isInside } from './inside-step.ts'
import { type PlayedEvent, type PlayedRun, RUN_ID } from './played-run.ts'

/**
 * Demands that a run shows what the recorded one has shown.
 * Contract: deltas count joined, and calls and agents that run side by side each for themselves; of the state its end counts.
 * Left out is what a record does not have: custom events, and the runs inside a recorded step.
 */
export function demandSameRun(recorded: PlayedRun, again: PlayedRun, steps: readonly string[], how: string): void {
  const lanes = lanesOf(again, steps)
  for (const [lane, right] of lanesOf(recorded, steps)) {
    demandSameLane(right, lanes.get(lane) ?? [], how)
    lanes.delete(lane)
  }
  for (const [more] of lanes.values()) {
    if (more) demandEqual(more.event, null, `${how}, the run shows "${lineOf(more)}", which the recorded run does not`)
  }
  demandEqual(again.state, recorded.state, `${how}, the run leaves another state`)
}

function demandSameLane(right: readonly PlayedEvent[], shown: readonly PlayedEvent[], how: string): void {
  for (let i = 0; i < Math.max(right.length, shown.length); i++) {
    const [one, other] = [right[i], shown[i]]
    const step = one?.after ?? right.at(-1)?.after
    const where = step === undefined ? 'before its first step' : `after the step ${step}`
    const wrong = `${how}, the run shows ${quoted(other)} ${where}, where the recorded run shows ${quoted(one)}`
    demandEqual(comparable(other), comparable(one), wrong)
  }
}

/** An event without the state of an interrupted agent, which belongs to the agent and may have the time in it. */
function comparable(played: PlayedEvent | undefined): AgentEvent | null {
  const { event } = played ?? {}
  if (event?.type !== 'action' || event.action.type !== 'interrupt') return event ?? null
  const { state: _, ...action } = event.action
  return { ...event, action }
}

function quoted(played: PlayedEvent | undefined): string {
  return played ? `"${lineOf(played)}"` : 'nothing more'
}

function lineOf({ event }: PlayedEvent): string {
  const line = transcript([event]).join('').trim()
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line
}
const LONGEST = 160

/** The events that are compared, by what they belong to: a call, or an agent in a run. */
function lanesOf({ events }: PlayedRun, steps: readonly string[]): Map<string, PlayedEvent[]> {
  const lanes = new Map<string, PlayedEvent[]>()
  for (const played of events) {
    const { event } = played
    const { type, runId, agentName, runPath } = event
    if (type === 'state-delta' || type === 'custom' || isInside(stepsOf(runId), steps)) continue
    const call = type.startsWith('tool-call') || !('callId' in event) ? '' : event.callId
    const lane = JSON.stringify([runId, runPath, agentName, call])
    const before = lanes.get(lane) ?? []
    lanes.set(lane, before)
    const joined = join(before.at(-1), played)
    if (joined) before[before.length - 1] = joined
    else before.push(played)
  }
  return lanes
}

/** What the steps of a run begin with. */
function stepsOf(runId: string): string {
  return runId === RUN_ID ? '' : `${runId.slice(RUN_ID.length + 1)}/`
}

function join(last: PlayedEvent | undefined, { event, after }: PlayedEvent): PlayedEvent | undefined {
  if (!last || !('delta' in event) || typeof event.delta !== 'string') return undefined
  const { delta, ...rest } = event
  if (!('delta' in last.event) || typeof last.event.delta !== 'string') return undefined
  const { delta: before, ...lastRest } = last.event
  if (JSON.stringify(rest) !== JSON.stringify(lastRest)) return undefined
  return { event: { ...event, delta: before + delta } as AgentEvent, after }
}
