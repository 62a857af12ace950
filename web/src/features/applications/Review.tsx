import { Link, useRouterState } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { newKey } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { useOrg } from '../../api/queries.ts'
import { apps } from '../../text/applications.ts'
import { Button } from '../../ui/Button.tsx'
import { Field } from '../../ui/Field.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Failed } from '../../ui/States.tsx'

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

/** What a write would do, and the press that does it. The focus comes here, and goes back to where it was. */
export function Review({ title, steps, children, typed, submit, danger, onSure, onBack, about }: Props) {
  const [key, setKey] = useState(newKey)
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null
    section.current?.focus()
    return () => before?.focus()
  }, [])
  async function sure() {
    setBusy(true)
    setError(null)
    try {
      await onSure(key)
    } catch (failed) {
      setError(failed)
      if (!isFailure(failed) || !(failed.unknown || failed.code === 'idempotency_in_progress')) setKey(newKey()) // a refusal is kept by its key
      setBusy(false)
    }
  }
  const missing = typed && text.trim() !== typed ? apps.review.typeIt(typed) : null
  return (
    <section className="card stack" aria-label={title} ref={section} tabIndex={-1} onKeyDown={e => e.key === 'Escape' && !busy && onBack()}>
      <header><h2>{title}</h2></header>
      <Plan steps={steps} />
      {children}
      {error !== null && <Trouble of={error}>{about?.(error)}</Trouble>}
      <form className="form" onSubmit={e => (e.preventDefault(), !busy && !missing && void sure())}>
        {typed && <div className="measure"><Field label={apps.review.typed(typed)}>{a => <input {...a} className="mono" value={text} onChange={e => setText(e.target.value)} autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field></div>}
        <div className="row"><Button kind={danger ? 'danger main' : 'main'} type="submit" busy={busy} reason={missing}>{submit}</Button><Button onPress={onBack}>{apps.review.cancel}</Button></div>
      </form>
    </section>
  )
}

/** What failed, with what is to be done about it. */
export function Trouble({ of, children, retry }: { of: unknown; children?: ReactNode; retry?: () => void }) {
  const org = useOrg()
  const href = useRouterState({ select: s => s.location.href })
  return (
    <Failed of={of} retry={retry}>
      {isFailure(of) && of.unknown && <span>{apps.review.unknown}</span>}
      {isFailure(of, 'proof_required') && <><span>{apps.review.proof}</span> <Link className="button small" to="/sign-in" search={{ org, returnTo: '/dashboard' + href }}>{apps.review.signIn}</Link></>}
      {children}
    </Failed>
  )
}
