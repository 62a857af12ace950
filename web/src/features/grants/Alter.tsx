import { useState } from 'react'
import { call } from '../../api/call.ts'
import { useOnce } from '../../api/once.ts'
import { useEffects } from '../../api/planning.ts'
import { useAsk, useVocabulary } from '../../api/queries.ts'
import type { Grant, GrantInput, HomedGrant } from '../../api/schema.gen.ts'
import { supposed } from '../../domain/plans.ts'
import { t } from '../../text/en.ts'
import { gr } from '../../text/grants.ts'
import { w } from '../../text/writes.ts'
import { Choose } from '../../ui/Choose.tsx'
import { Field } from '../../ui/Field.tsx'
import { At, Id, Name, SubjectName, Time } from '../../ui/Id.tsx'
import { Impact, untilTold } from '../../ui/Impact.tsx'
import { Plan, type Step } from '../../ui/Plan.tsx'
import { Sure } from '../../ui/Sure.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useDebounced } from '../../ui/useDebounced.ts'

interface Props {
  org: string
  grants: Array<Grant & Partial<HomedGrant>>
  home: string
  onDone: () => void
  onEnd: () => void
}

const most = 50

const end = (at: number | null | undefined) => (at ? <Time at={at} /> : gr.never)
const what = (g: GrantInput) => (g.roleId ? <>{t.explain.role} <Name of={g.roleId} /></> : <Id of={g.pattern ?? ''} />)

/** Another expiry of grants, all of them or none. */
export function Expiry({ org, grants, home, onDone, onEnd }: Props) {
  const once = useOnce()
  const [until, setUntil] = useState('')
  const expiresAt = until ? new Date(until).getTime() : null
  const changed = grants.filter(g => (g.expiresAt ?? null) !== expiresAt)
  const account = grants.every(g => g.home?.kind === 'account')
  const wanted = useDebounced(until)
  const settled = wanted === until
  const effects = useEffects(settled && changed.length && !account ? { without: changed, with: { grants: changed.map(g => supposed({ ...g, expiresAt })) } } : null, home)
  async function change() {
    const body = { ...(home ? { application: home } : {}), expire: changed.map(g => ({ grantId: g.id, expiresAt })) }
    await once(body, key => call('POST /orgs/{org}/org/grants/change', { path: { org }, body }, { key }))
    say(gr.expiryChanged(changed.length))
    onDone()
  }
  const steps: Step[] = changed.slice(0, most).map(g => ({ sign: '→', text: <>{what(g)} {t.explain.to} <strong><SubjectName of={g.subject} /></strong> <At of={g.scope} />: {end(g.expiresAt)} → <strong>{end(expiresAt)}</strong></> }))
  return (
    <Sure title={gr.expiryTitle(grants.length)} submit={gr.expiryNow} reason={changed.length === 0 ? gr.nothingToDo : account ? null : settled ? untilTold(effects) : t.state.waiting} onSure={change} onEnd={onEnd}>
      <Field label={gr.until} hint={gr.untilHint}>{a => <input {...a} type="datetime-local" value={until} onChange={e => setUntil(e.target.value)} />}</Field>
      <Told of={grants.length - changed.length} home={home} account={account} steps={steps} more={changed.length > most} />
      {changed.length > 0 && !account && <Impact of={effects} />}
    </Sure>
  )
}

/** Something else in place of grants: same subject, scope and expiry, in one commit. */
export function Swap({ org, grants, home, onDone, onEnd }: Props) {
  const words = useVocabulary()
  const roles = useAsk('GET /orgs/{org}/org/roles', { path: { org }, query: { limit: 1000 } })
  const once = useOnce()
  const [by, setBy] = useState<'role' | 'pattern'>('role')
  const [role, setRole] = useState('')
  const [pattern, setPattern] = useState('')
  const chosen = useDebounced((by === 'role' ? role : pattern).trim(), 300)
  const now = (by === 'role' ? role : pattern).trim()
  const instead = (g: Grant) => ({ ...g, roleId: by === 'role' ? now : undefined, pattern: by === 'role' ? undefined : now })
  const changed = now ? grants.filter(g => (by === 'role' ? g.roleId : g.pattern) !== now) : []
  const create = changed.map(g => supposed(instead(g) as Grant))
  const account = grants.every(g => g.home?.kind === 'account')
  const settled = chosen === now
  const effects = useEffects(settled && changed.length && !account ? { without: changed, with: { grants: create } } : null, home)
  async function swap() {
    const body = { ...(home ? { application: home } : {}), delete: changed.map(g => g.id), create }
    await once(body, key => call('POST /orgs/{org}/org/grants/change', { path: { org }, body }, { key }))
    say(gr.swapped(changed.length))
    onDone()
  }
  const steps: Step[] = changed.slice(0, most).map((g, i) => ({ sign: '→', text: <><strong><SubjectName of={g.subject} /></strong> <At of={g.scope} />: {what(g)} → <strong>{what(create[i]!)}</strong></> }))
  return (
    <Sure title={gr.swapTitle(grants.length)} submit={gr.swapNow} reason={!now ? gr.chooseWhat : changed.length === 0 ? gr.nothingToDo : account ? null : settled ? untilTold(effects) : t.state.waiting} onSure={swap} onEnd={onEnd}>
      <p className="dim">{gr.swapHint}</p>
      <fieldset className="choice">
        <legend className="label">{t.give.what}</legend>
        <label><input type="radio" name="instead" checked={by === 'role'} onChange={() => setBy('role')} /> {t.give.byRole}</label>
        <label><input type="radio" name="instead" checked={by === 'pattern'} onChange={() => setBy('pattern')} /> {t.give.byPattern}</label>
      </fieldset>
      {by === 'role' ? (
        <Choose label={t.grants.role} value={role} onChange={setRole} choices={(roles.data?.roles ?? []).map(r => ({ id: r.id, note: r.name }))} />
      ) : (
        <Choose label={t.grants.pattern} hint={t.give.patternHint} value={pattern} onChange={setPattern} choices={(words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))} mono />
      )}
      <Told of={now ? grants.length - changed.length : 0} home={home} account={account} steps={steps} more={changed.length > most} />
      {changed.length > 0 && !account && <Impact of={effects} />}
    </Sure>
  )
}

/** The rows of a change, and those that stay as they are. */
function Told({ of, home, account, steps, more }: { of: number; home: string; account: boolean; steps: Step[]; more: boolean }) {
  return (
    <>
      {steps.length > 0 && <div className="bounded" tabIndex={0} role="region" aria-label={w.title}><Plan steps={steps} /></div>}
      {more && <p className="small dim">{gr.first(most)}</p>}
      {of > 0 && <p className="dim">{gr.sameAlready(of)}</p>}
      <p className="dim">{account ? t.give.account : home ? w.keptBy(home) : w.root} {gr.allOrNone}</p>
    </>
  )
}
