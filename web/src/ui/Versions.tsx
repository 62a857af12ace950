import type { ReactNode } from 'react'
import { w } from '../text/writes.ts'
import { Button } from './Button.tsx'

interface Props {
  /** Each member that differs: what is stored now, and what this form would store. */
  rows: Array<{ label: string; theirs: ReactNode; mine: ReactNode }>
  onTheirs: () => void
  onMine: () => void
}

/** What two people wrote at the same time, side by side; one of both is gone on with. */
export function Versions({ rows, onTheirs, onMine }: Props) {
  return (
    <section className="note mind" role="alert" aria-label={w.versions}>
      <div className="grow stack close">
        <p><strong>{w.meanwhile}</strong></p>
        <div className="wide-table">
          <table>
            <thead><tr><th scope="col">{w.field}</th><th scope="col">{w.theirs}</th><th scope="col">{w.mine}</th></tr></thead>
            <tbody>{rows.map(r => <tr key={r.label}><th scope="row">{r.label}</th><td>{r.theirs}</td><td>{r.mine}</td></tr>)}</tbody>
          </table>
        </div>
        <div className="row"><Button small onPress={onTheirs}>{w.takeTheirs}</Button><Button small onPress={onMine}>{w.keepMine}</Button></div>
      </div>
    </section>
  )
}
