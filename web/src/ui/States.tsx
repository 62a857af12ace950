import { type ReactNode, useEffect, useState } from 'react'
import { visible } from '../domain/visible.ts'
import { t } from '../text/en.ts'
import { Button } from './Button.tsx'

/** What went wrong, as far as a reader is told. */
export interface Trouble {
  code?: string
  message: string
  requestId?: string
  wait?: number
  status?: number
  fields?: Record<string, unknown>
}

/** Whether a wait has lasted long enough to be shown. */
export function useLater(ms = 150): boolean {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms)
    return () => clearTimeout(timer)
  }, [ms])
  return late
}

export function Waiting({ lines = 6 }: { lines?: number }) {
  const late = useLater()
  return (
    <div className="skeleton" role="status" aria-label={t.state.waiting}>
      {late && Array.from({ length: lines }, (_, i) => <i key={i} />)}
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  )
}

export function Failed({ of, retry, children }: { of: unknown; retry?: () => void; children?: ReactNode }) {
  const e = of as Trouble
  const known = typeof e?.code === 'string'
  const lacks = e?.code === 'forbidden' && typeof e.fields?.permission === 'string' ? e.fields.permission : ''
  return (
    <div className="note no" role="alert">
      <div className="grow stack close">
        <div>
          <p>{lacks ? <><strong>{t.state.forbidden}</strong> {t.needs(visible(lacks))}</> : e?.code === 'idempotency_in_progress' ? t.state.running : known && e.message ? visible(e.message) : t.state.noAnswer}</p>
          {known && (
            <p className="small dim">
              <code>{visible(e.code!)}</code>
              {e.requestId && <> · {t.state.request} <code>{e.requestId}</code></>}
              {!!e.wait && <> · {t.state.waitFor(e.wait)}</>}
            </p>
          )}
        </div>
        {(retry || children) && <div className="row">{retry && <Button small onPress={retry}>{t.state.retry}</Button>}{children}</div>}
      </div>
    </div>
  )
}

interface Asked<T> {
  data: T | undefined
  error: unknown
  isPending: boolean
  isPlaceholderData: boolean
  refetch: () => unknown
}

/** What was asked for, or why it is not there. Old rows stay while new ones come. */
export function Loaded<T>({ of, lines, children }: { of: Asked<T>; lines?: number; children: (data: T) => ReactNode }) {
  if (of.data !== undefined) {
    return (
      <div className={of.isPlaceholderData ? 'stale' : undefined} aria-busy={of.isPlaceholderData}>
        {of.error ? <Failed of={of.error} retry={() => void of.refetch()} /> : null}
        {children(of.data)}
      </div>
    )
  }
  if (of.error) return <Failed of={of.error} retry={() => void of.refetch()} />
  return <Waiting lines={lines} />
}
