import { type FormEvent, type ReactNode, useState } from 'react'
import { Dialog, Heading, Modal, ModalOverlay } from 'react-aria-components'
import { visible } from '../domain/visible.ts'
import { t } from '../text/en.ts'
import { w } from '../text/writes.ts'
import { Button } from './Button.tsx'
import { Field } from './Field.tsx'
import { Failed, type Trouble } from './States.tsx'

interface Props {
  title: string
  submit: string
  /** What is done takes something away. */
  danger?: boolean
  /** The id that has to be typed before. */
  typed?: string
  /** Why it cannot be done yet, or at all. */
  reason?: string | null
  onSure: () => Promise<void>
  onEnd: () => void
  /** What is told of a failure beside its message. */
  about?: (failed: Trouble) => ReactNode
  children: ReactNode
}

/** The review before a write. It stays while the write is under way, and after one that failed. */
export function Sure({ title, submit, danger, typed, reason, onSure, onEnd, about, children }: Props) {
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<Trouble | null>(null)
  // What nobody could type is typed as it is shown.
  const confirmed = typed === undefined || [typed.trim(), visible(typed).trim()].includes(text.trim())
  async function sure(e: FormEvent) {
    e.preventDefault()
    e.stopPropagation() // a form that it stands in is not sent with it
    if (busy || reason || !confirmed) return
    setBusy(true)
    setError(null)
    try {
      await onSure()
    } catch (failed) {
      setError(failed as Trouble)
      setBusy(false)
    }
  }
  return (
    <ModalOverlay className="veil" isOpen onOpenChange={open => !open && !busy && onEnd()} isDismissable={!busy}>
      <Modal className="sheet review">
        <Dialog className="inside">
          <Heading slot="title" level={2}>{title}</Heading>
          <form className="form" onSubmit={e => void sure(e)}>
            {children}
            {typed !== undefined && !reason && (
              <Field label={w.typeId(visible(typed))}>{a => <input {...a} className="mono" value={text} onChange={e => setText(e.target.value)} autoComplete="off" autoCapitalize="none" spellCheck={false} />}</Field>
            )}
            {error && <Failed of={error}>{error.fields?.outcome === 'unknown' || error.status === 0 ? <span>{t.give.unknown}</span> : about?.(error)}</Failed>}
            <div className="row acts">
              <Button kind={danger ? 'danger main' : 'main'} type="submit" busy={busy} reason={reason ?? (confirmed ? null : w.typeId(visible(typed ?? '')))}>{submit}</Button>
              <Button onPress={onEnd}>{t.cancel}</Button>
            </div>
          </form>
        </Dialog>
      </Modal>
    </ModalOverlay>
  )
}
