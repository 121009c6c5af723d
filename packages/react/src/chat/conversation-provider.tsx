import type { Interrupt } from '@ag-ui/client'
import { type ReactNode, type RefObject, useCallback, useMemo, useRef } from 'react'
import type { Thread, ThreadActions } from '../thread/thread.ts'
import type { Labels } from '../view/labels.ts'
import { useLabels } from '../view/use-labels.ts'
import { useStable } from '../view/use-stable.ts'
import { Announcer } from './announcer.tsx'
import type { ConversationComponents } from './components.ts'
import { PartsContext, QuestionsContext, ThreadContext } from './conversation-context.ts'
import { DEFAULT_COMPONENTS } from './default-components.ts'

/** The props of `<ConversationProvider>`. */
export interface ConversationProviderProps {
  readonly thread: Thread
  /** Components of your own, instead of the default ones. Contract: declared outside of a component, so that they stay the same. */
  readonly components?: Partial<ConversationComponents>
  /** Texts of your own, instead of the English ones. */
  readonly labels?: Partial<Labels>
  /** Gets the message box, for a page that moves the focus there. */
  readonly composerRef?: RefObject<HTMLTextAreaElement | null>
  readonly children?: ReactNode
}

const NONE: Partial<ConversationComponents> = {}
const NO_QUESTIONS: ReadonlyMap<string, Interrupt> = new Map()

/** Gives a thread to `ConversationLog`, `Composer` and the other parts of a conversation, for a layout of your own. */
export function ConversationProvider({
  thread,
  components: given = NONE,
  labels: texts,
  composerRef,
  children,
}: ConversationProviderProps): ReactNode {
  const labels = useLabels(texts)
  const own = useStable(given)
  const actions = useStable(actionsOf(thread))
  const ownRef = useRef<HTMLTextAreaElement>(null)
  const composer = composerRef ?? ownRef
  const focusComposer = useCallback(() => {
    if (matchMedia('(pointer: fine)').matches) composer.current?.focus()
  }, [composer])
  const components = useMemo(() => ({ ...DEFAULT_COMPONENTS, ...own }), [own])
  const parts = useMemo(
    () => ({ actions, labels, components, composer, focusComposer }),
    [actions, labels, components, composer, focusComposer],
  )
  const { status, questions } = thread
  const open = useStable(status === 'idle' ? questions : NO_ITEMS)
  const byCall = useMemo(
    () => (open.length === 0 ? NO_QUESTIONS : new Map(open.map((question) => [question.toolCallId ?? '', question]))),
    [open],
  )
  return (
    <PartsContext.Provider value={parts}>
      <QuestionsContext.Provider value={byCall}>
        <ThreadContext.Provider value={thread}>
          {children}
          <Announcer />
        </ThreadContext.Provider>
      </QuestionsContext.Provider>
    </PartsContext.Provider>
  )
}

const NO_ITEMS: readonly Interrupt[] = []

function actionsOf(thread: Thread): ThreadActions {
  const { send, answer, dismiss, stop, continue: goOn, retry, regenerate, edit, setState, reload } = thread
  return { send, answer, dismiss, stop, continue: goOn, retry, regenerate, edit, setState, reload }
}
