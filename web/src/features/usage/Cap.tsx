import { useState } from 'react'
import { call } from '../../api/call.ts'
import { queries } from '../../api/queries.ts'
import type { Dimension } from '../../api/schema.gen.ts'
import { usage as t } from '../../text/usage.ts'
import { Field } from '../../ui/Field.tsx'
import { number } from '../../ui/Id.tsx'
import { Plan } from '../../ui/Plan.tsx'
import { refusal } from '../../ui/Refusal.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'

const told = (cap: number | null) => (cap === null ? t.noCap : number.format(cap))

/** Another cap, or none: what is counted, what changes, and what a reached cap does. */
export function Cap({ org, of, onEnd }: { org: string; of: Dimension; onEnd: () => void }) {
  const [text, setText] = useState(of.cap === null ? '' : String(of.cap))
  const name = t.names[of.dimension] ?? of.dimension
  const given = text.trim() === '' ? null : Number(text)
  const wrong = given !== null && (!/^\d+$/.test(text.trim()) || !Number.isSafeInteger(given)) ? t.wrong : null
  async function change() {
    await call('PUT /orgs/{org}/billing/caps/{dimension}', { path: { org, dimension: of.dimension }, body: { cap: given } })
    say(t.changed)
    onEnd()
    await queries.invalidateQueries({ predicate: q => q.queryKey[0] !== 'session' })
  }
  return (
    <Sure title={t.title2(name)} submit={t.submit} reason={wrong ?? (given === of.cap ? t.same : null)} onSure={change} onEnd={onEnd} about={refusal}>
      <Field label={t.cap} hint={t.capHint} wrong={wrong}>{a => <input {...a} value={text} onChange={e => setText(e.target.value)} inputMode="numeric" autoComplete="off" />}</Field>
      {!wrong && given !== of.cap && <Plan steps={[{ sign: '→', text: <>{name}: <strong>{told(given)}</strong><span className="dim">, {t.now} {told(of.cap)}</span></> }]} />}
      {t.effects[of.dimension] && <p className="dim">{t.when} {t.effects[of.dimension]}</p>}
    </Sure>
  )
}
