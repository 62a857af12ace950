import type { ReactNode } from 'react'
import { isFailure } from '../../api/errors.ts'
import { useOnce } from '../../api/once.ts'
import { apps } from '../../text/applications.ts'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Failed } from '../../ui/States.tsx'
import { Sure } from '../../ui/Sure.tsx'

interface Props {
  title: string
  steps: Step[]
  children?: ReactNode
  /** What is typed before it can be done: the id of what it is done to. */
  typed?: string
  submit: string
  danger?: boolean
  /** Given the key of this form: sent again without an answer, it is the same write. */
  onSure: (key: string) => Promise<void>
  onBack: () => void
  /** What is said of a failure beside its message. */
  about?: (failed: unknown) => ReactNode
}

/** What a write would do, and the press that does it. */
export function Review({ steps, children, onSure, onBack, about, ...same }: Props) {
  const once = useOnce()
  return (
    <Sure {...same} onSure={() => once(same.title, onSure)} onEnd={onBack} about={failed => <>{refusal(failed)}{about?.(failed)}</>}>
      <Plan steps={steps} />
      {children}
    </Sure>
  )
}

/** What failed, with what is to be done about it. */
export function Trouble({ of, children, retry }: { of: unknown; children?: ReactNode; retry?: () => void }) {
  return (
    <Failed of={of} retry={retry}>
      {isFailure(of) && of.unknown && <span>{apps.review.unknown}</span>}
      {isFailure(of) && refusal(of)}
      {children}
    </Failed>
  )
}
