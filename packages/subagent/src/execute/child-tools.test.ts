import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toolPatterns } from '../define/tool-selection.ts'
import { compileNames } from '../glob.ts'
import type { ToolSelection } from '../index.ts'
import { agent, calling, completing, type LeadOptions, leadHarness } from '../lead.fixture.ts'
import { miniAgent, tool } from '../subagent.fixture.ts'
import { childTools } from './child-tools.ts'
import { Environment } from './environment.ts'

const catalogue = ['read_file', 'read_dir', 'write_file', 'grep', 'a.c'].map((name) => tool(name))

/** The tools that the model of agent `a` is shown. */
const shown = async (tools: ToolSelection | undefined, more: Partial<LeadOptions> = {}) => {
  const s = leadHarness({
    agents: [agent('a', tools ? { tools } : {}), agent('b'), agent('c')],
    tools: catalogue,
    scripts: { lead: [calling('a'), 'Done.'], a: [completing()] },
    ...more,
  })
  await s.run()
  const names = s.models.a?.requests[0]?.tools.map(({ name }) => name) ?? []
  return { names: names.filter((name) => name !== 'complete_task'), s }
}

describe('the tools of an agent', () => {
  test.each<[ToolSelection | undefined, readonly string[]]>([
    [undefined, []],
    [[], []],
    [['grep'], ['grep']],
    [['read_*'], ['read_file', 'read_dir']],
    [['*'], ['read_file', 'read_dir', 'write_file', 'grep', 'a.c']],
    [{ allow: ['*'], deny: ['write_*'] }, ['read_file', 'read_dir', 'grep', 'a.c']],
    [{ allow: ['grep'], deny: ['*'] }, []],
    [['a.c'], ['a.c']],
    [['grep', 'grep', 'g*'], ['grep']],
    [
      ['b', 'grep'],
      ['b', 'grep'],
    ],
    [{ allow: ['b', 'c'], deny: ['b'] }, ['c']],
  ])('%j gives %j', async (selection, names) => {
    expect((await shown(selection)).names).toEqual(names)
  })

  test('special characters in a pattern match themselves', async () => {
    expect((await shown(['a.*', '(read|write)_*', 'rea[d]_*', '.*'])).names).toEqual(['a.c'])
  })

  test('other agents are named one by one: a pattern does not bring them in, nor itself', async () => {
    expect((await shown(['*'])).names).not.toEqual(expect.arrayContaining(['a', 'b', 'c']))
  })

  test('names that come to nothing are reported once, and the agent runs without them', async () => {
    const { names, s } = await shown(['grep', 'gerp', 'nobody', 'invoke_agent', 'complete_task'])
    expect(names).toEqual(['grep'])
    expect(s.reports).toMatchObject([
      {
        code: 'SUBAGENT_TOOLS_UNRESOLVED',
        details: { path: ['a'], names: ['gerp', 'nobody', 'invoke_agent', 'complete_task'] },
      },
    ])
  })

  test('a call outside the set is answered with an error and not run', async () => {
    const written: string[] = []
    const s = leadHarness({
      agents: [agent('a', { tools: ['read_*'] })],
      tools: [tool('read_file'), tool('write_file', { invoke: () => `${written.push('x')}` })],
      scripts: { lead: [calling('a'), 'Done.'], a: [calling({ name: 'write_file' }), completing()] },
    })
    const { events } = await s.run()
    expect(written).toEqual([])
    expect(events.find((event) => event.type === 'tool-end' && event.name === 'write_file')).toMatchObject({
      status: 'failed',
      error: { code: 'TOOL_UNKNOWN' },
    })
  })

  test('an agent that cannot be made is left out, and its caller still works', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b', 'grep'] }), agent('b', { model: 'nowhere' })],
      tools: catalogue,
      scripts: { lead: [calling('a'), 'Done.'], a: [completing()] },
    })
    expect((await s.run()).statuses).toMatchObject([{ reason: 'goal' }])
    expect(s.models.a?.requests[0]?.tools.map(({ name }) => name)).toEqual(['grep', 'complete_task'])
    expect(s.reports.map(({ code }) => code)).toEqual(['CONFIG_INVALID', 'SUBAGENT_TOOLS_UNRESOLVED'])
  })
})

describe('a child gets at most the tools of its caller', () => {
  test('and the tools it does not get are reported', async () => {
    const s = leadHarness({
      agents: [
        agent('a', { tools: { allow: ['read_*', 'b', 'c'], deny: ['read_dir'] } }),
        agent('b', { tools: ['*', 'write_file', 'c', 'a'] }),
        agent('c', { tools: ['*'] }),
      ],
      tools: catalogue,
      scripts: {
        lead: [calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [calling('c'), completing()],
        c: [completing()],
      },
    })
    await s.run()
    const names = (name: string) => s.models[name]?.requests[0]?.tools.map((one) => one.name)
    expect(names('a')).toEqual(['read_file', 'b', 'c', 'complete_task'])
    expect(names('b')).toEqual(['read_file', 'c', 'complete_task'])
    expect(names('c')).toEqual(['read_file', 'complete_task'])
    expect(s.reports).toMatchObject([
      { code: 'SUBAGENT_TOOLS_UNRESOLVED', details: { path: ['a', 'b'], names: ['write_file', 'a'] } },
    ])
  })

  test('at every position in the tree on its own: the same agent has less below one that has less', async () => {
    const s = leadHarness({
      agents: [agent('a', { tools: ['b'] }), agent('b', { tools: ['*'] })],
      tools: catalogue,
      scripts: {
        lead: [calling('b'), calling('a'), 'Done.'],
        a: [calling('b'), completing()],
        b: [completing(), completing()],
      },
    })
    await s.run()
    expect(s.models.b?.requests.map(({ tools }) => tools.length)).toEqual([6, 1])
  })

  test('for any patterns: never more than the caller, nothing denied, everything allowed (property)', () => {
    const name = fc.stringMatching(/^[ab.]{1,3}$/)
    const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), minLength: 1, maxLength: 4 })
    const selection = fc.record({
      allow: fc.array(pattern, { maxLength: 3 }),
      deny: fc.array(pattern, { maxLength: 2 }),
    })
    fc.assert(
      fc.property(
        fc.uniqueArray(name, { maxLength: 6 }),
        fc.array(selection, { minLength: 1, maxLength: 4 }),
        (names, levels) => {
          const env = new Environment({ factory: miniAgent, tools: names.map((one) => tool(one)) })
          let granted: ReadonlySet<string> = new Set(names)
          for (const tools of levels) {
            const { found } = childTools(agent('a', { tools }), env, { path: ['a'], granted })
            const { allow, deny } = toolPatterns('t', tools)
            const [allowed, denied] = [compileNames(allow), compileNames(deny)]
            expect(new Set(found.keys())).toEqual(new Set([...granted].filter((one) => allowed(one) && !denied(one))))
            granted = new Set(found.keys())
          }
        },
      ),
      { seed: 18, numRuns: 500 },
    )
  })
})
