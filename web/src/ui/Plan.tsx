import type { ReactNode } from 'react'

export interface Step {
  sign: '+' | '−' | '→'
  text: ReactNode
}

/** What a write would do, before it is done. */
export function Plan({ steps }: { steps: Step[] }) {
  return (
    <ul className="plan">
      {steps.map((s, i) => (
        <li key={i} className={s.sign === '+' ? 'add' : s.sign === '−' ? 'take' : undefined}>
          <span className="sign">{s.sign}</span>
          <span>{s.text}</span>
        </li>
      ))}
    </ul>
  )
}
