import { type ReactNode, useId } from 'react'

interface Props {
  label: string
  hint?: ReactNode
  wrong?: string | null
  children: (attributes: { id: string; 'aria-describedby'?: string; 'aria-invalid'?: true }) => ReactNode
}

/** A control with its name, its hint and what is wrong with it. */
export function Field({ label, hint, wrong, children }: Props) {
  const id = useId()
  const about = hint || wrong ? { 'aria-describedby': id + 'about' } : {}
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, ...about, ...(wrong ? { 'aria-invalid': true } : {}) })}
      {(hint || wrong) && (
        <div id={id + 'about'}>
          {wrong && <p className="wrong">{wrong}</p>}
          {hint && <p className="hint">{hint}</p>}
        </div>
      )}
    </div>
  )
}
