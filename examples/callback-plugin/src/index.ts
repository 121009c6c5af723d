import type { Callback, RunInfo, Usage } from '@troupe/kernel'
import { addUsage, checkOption, NO_USAGE } from '@troupe/kernel/kit'

/** What a run has used, all runs inside it included. */
export interface RunBill {
  readonly runId: string
  /** Tokens by the name of the model. */
  readonly models: { readonly [model: string]: Usage }
  /** In the currency of the prices; models without a price cost nothing. */
  readonly cost: number
}

/** What tokens cost, and who wants to know. */
export interface TokenMeterOptions {
  /** Called once for each run that has ended, however it ended. */
  readonly onRun: (bill: RunBill) => void
  /** The price of a million tokens, in and out, by the name of the model. @default no prices */
  readonly prices?: { readonly [model: string]: { readonly input: number; readonly output: number } }
}

/**
 * Counts the tokens and the cost of each run.
 * @example startRun(agent, input, { callbacks: [tokenMeter({ onRun: ({ cost }) => console.log(cost) })] })
 */
export function tokenMeter({ onRun, prices = {} }: TokenMeterOptions): Callback {
  checkOption(typeof onRun === 'function', 'tokenMeter', 'onRun is a function', onRun)
  /** The outermost run of each run under way. */
  const roots = new Map<string, string>()
  const counted = new Map<string, Map<string, Usage>>()
  const rootOf = (runId: string) => roots.get(runId) ?? runId

  const close = ({ runId, parentRunId }: RunInfo) => {
    roots.delete(runId)
    if (parentRunId !== undefined) return
    const models = Object.fromEntries(counted.get(runId) ?? [])
    counted.delete(runId)
    const cost = Object.entries(models).reduce((sum, [model, usage]) => sum + costOf(usage, prices[model]), 0)
    onRun({ runId, models, cost })
  }
  return {
    name: 'token-meter',
    run: {
      onStart: ({ runId, parentRunId }) =>
        void roots.set(runId, parentRunId === undefined ? runId : rootOf(parentRunId)),
      onEnd: close,
      onError: close,
    },
    model: {
      onEnd({ runId }, { model, usage }) {
        const root = rootOf(runId)
        const models = counted.get(root) ?? new Map<string, Usage>()
        models.set(model, addUsage(models.get(model) ?? NO_USAGE, usage))
        counted.set(root, models)
      },
    },
  }
}

function costOf({ inputTokens, outputTokens }: Usage, price = { input: 0, output: 0 }): number {
  return (inputTokens * price.input + outputTokens * price.output) / 1e6
}
