import { useState } from 'react'
import { call, newKey } from '../../api/call.ts'
import { isFailure } from '../../api/errors.ts'
import { holds } from '../../api/gates.ts'
import { useMe } from '../../api/queries.ts'
import type { Application, Conflict, Counts as Counted, Demoted, Federated } from '../../api/schema.gen.ts'
import { type Choice, resolutions } from '../../domain/merging.ts'
import { visible } from '../../domain/visible.ts'
import { apps } from '../../text/applications.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, number, SubjectName } from '../../ui/Id.tsx'
import { Empty } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useSpot } from './Application.tsx'
import { Conflicts } from './Conflicts.tsx'
import { reread } from './Overview.tsx'
import { Review, Trouble } from './Review.tsx'

const words = apps.federation
interface Props {
  org: string
  of: Application
}

/** Where the people, groups and roles of the application are kept, and how they move. */
export function Organization({ org, of: a }: Props) {
  if (a.state === 'registered') return <Empty title={words.unlinked} />
  return a.state === 'federated' ? <GiveBack org={org} of={a} /> : <Move org={org} of={a} />
}

const next = (failed: unknown) => isFailure(failed) && words.next[failed.code] && <span>{words.next[failed.code]}</span>

/** The conflicts that a refusal names, if it is one about conflicts. */
function named(failed: unknown): { conflicts: Conflict[]; fingerprint: string } | null {
  if (!isFailure(failed, 'unresolved_conflicts', 'stale_resolutions', 'invalid_resolution')) return null
  return { conflicts: (failed.fields.conflicts as Conflict[] | undefined) ?? [], fingerprint: String(failed.fields.fingerprint ?? '') }
}

/** A dry run of the move, decisions about its conflicts, and the move. */
function Move({ org, of: a }: Props) {
  const me = useMe()
  const { search: { act }, set } = useSpot()
  const [would, setWould] = useState<Federated | null>(null)
  const [open, setOpen] = useState<Conflict[]>([]) // all that a dry run without decisions told
  const [fingerprint, setFingerprint] = useState('')
  const [choices, setChoices] = useState<Record<string, Choice>>({})
  const [settled, setSettled] = useState(false)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const key = 'cloud.applications.federate_application'
  const lacks = holds(me.data, key, 'cloud.app:' + a.id) !== 'yes' ? t.needs(key) : a.operation ? apps.overview.busy : null
  const path = { org, app: a.id }
  const { made, missing } = resolutions(open, choices)
  const judged = { ...(Object.keys(made).length ? { resolutions: made } : {}), ...(fingerprint ? { fingerprint } : {}) }

  async function look() {
    setBusy(true)
    setError(null)
    try {
      const told = await call('POST /orgs/{org}/applications/{app}/federate', { path, body: { dryRun: true } }, { key: newKey() })
      setWould(told)
      setOpen(told.conflicts ?? [])
      setFingerprint(told.fingerprint ?? '')
      setSettled((told.conflicts ?? []).length === 0)
    } catch (failed) {
      setError(failed)
      setWould(null)
    }
    setBusy(false)
  }
  async function check() {
    setBusy(true)
    setError(null)
    try {
      const told = await call('POST /orgs/{org}/applications/{app}/federate', { path, body: { dryRun: true, ...judged } }, { key: newKey() })
      setWould({ ...told, conflicts: [] })
      setFingerprint(told.fingerprint ?? fingerprint)
      setSettled((told.conflicts ?? []).length === 0)
    } catch (failed) {
      refused(failed)
    }
    setBusy(false)
  }
  function refused(failed: unknown) {
    const now = named(failed)
    setError(failed)
    setSettled(false)
    if (now && isFailure(failed, 'stale_resolutions')) {
      setOpen(now.conflicts)
      setFingerprint(now.fingerprint)
    }
  }
  async function move(form: string) {
    try {
      await call('POST /orgs/{org}/applications/{app}/federate', { path, body: judged }, { key: form })
    } catch (failed) {
      if (!named(failed)) throw failed
      set({ act: undefined })
      return refused(failed)
    }
    say(words.moved)
    set({ act: undefined })
    await reread()
  }
  function choose(id: string, choice: Choice) {
    setSettled(false)
    setChoices(old => ({ ...old, [id]: choice }))
  }
  const about = (failed: unknown) => (isFailure(failed, 'stale_resolutions') ? <span>{words.stale}</span> : next(failed))
  return (
    <>
      <section className="card stack" aria-label={apps.tabs.organization}>
        <header><h2>{words.there}</h2></header>
        <p className="dim">{a.health?.orgRoot === false ? words.notRoot : words.thereHint}</p>
        <div className="row"><Button kind={would ? undefined : 'main'} busy={busy} reason={lacks} onPress={() => void look()}>{would ? words.again : words.look}</Button></div>
        {error !== null && <Trouble of={error}>{about(error)}</Trouble>}
      </section>
      {would && act !== 'move' && (
        <>
          <section className="card stack" aria-label={words.brings}>
            <header><h2>{words.brings}</h2><span className="tag">{words.dry}</span></header>
            <Counts of={would.imported} />
            <Warnings of={would.warnings} />
            {would.virtualParents.length > 0 && <div><h3>{words.virtual}</h3><ul className="list bounded">{would.virtualParents.map(v => <li key={v.id}><Id of={v.id} /><span className="dim"><Id of={v.members.join(', ')} /></span></li>)}</ul></div>}
          </section>
          {open.length > 0 && <Conflicts of={open} choices={choices} onChoose={choose} />}
          <section className="card stack" aria-label={words.move}>
            <p role="status">{open.length === 0 ? words.noConflicts : settled ? words.settled : missing ? words.undecided(missing) : words.settles(Object.keys(made).length)}</p>
            <div className="row">
              {open.length > 0 && !settled && <Button kind="main" busy={busy} reason={missing ? words.undecided(missing) : null} onPress={() => void check()}>{words.check}</Button>}
              <Button kind={settled ? 'main' : undefined} reason={lacks ?? (settled ? null : words.undecided(missing || open.length))} onPress={() => set({ act: 'move' }, false)}>{words.move}</Button>
            </div>
          </section>
        </>
      )}
      {would && settled && act === 'move' && (
        <Review
          title={words.moveTitle(visible(a.name))} submit={words.moveNow} danger typed={a.id} onSure={move} onBack={() => set({ act: undefined })} about={next}
          steps={[{ sign: '→', text: <>{words.moves} <Id of={a.id} /> → {words.to}</> }, ...(open.length ? [{ sign: '→' as const, text: words.settles(Object.keys(made).length) }] : [])]}
        >
          <Counts of={would.imported} />
          <p className="dim">{words.waits} {words.moving}</p>
        </Review>
      )}
    </>
  )
}

/** A dry run of the way back, and the way back. */
function GiveBack({ org, of: a }: Props) {
  const me = useMe()
  const { search: { act }, set } = useSpot()
  const [would, setWould] = useState<Demoted | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const key = 'cloud.applications.demote_application'
  const lacks = holds(me.data, key, 'cloud.app:' + a.id) !== 'yes' ? t.needs(key) : a.operation ? apps.overview.busy : null
  const path = { org, app: a.id }
  async function look() {
    setBusy(true)
    setError(null)
    try {
      setWould(await call('POST /orgs/{org}/applications/{app}/demote', { path, body: { dryRun: true } }, { key: newKey() }))
    } catch (failed) {
      setError(failed)
      setWould(null)
    }
    setBusy(false)
  }
  async function back(form: string) {
    await call('POST /orgs/{org}/applications/{app}/demote', { path, body: {} }, { key: form })
    say(words.gaveBack)
    set({ act: undefined })
    await reread()
  }
  return (
    <>
      <section className="card stack" aria-label={apps.tabs.organization}>
        <header><h2>{words.here}</h2></header>
        <p className="dim">{words.hereHint}</p>
        <div className="row"><Button busy={busy} reason={lacks} onPress={() => void look()}>{would ? words.again : words.lookBack}</Button></div>
        {error !== null && <Trouble of={error}>{next(error)}</Trouble>}
      </section>
      {would && act !== 'back' && (
        <section className="card stack" aria-label={words.takes}>
          <header><h2>{words.takes}</h2><span className="tag">{words.dry}</span></header>
          <Counts of={would.exported} />
          <Warnings of={would.warnings} />
          <h3>{words.left}</h3>
          {would.leftBehind.roles.length + would.leftBehind.grants.length === 0 && <p className="dim">{words.leftNothing}</p>}
          <ul className="list bounded">
            {would.leftBehind.roles.map(r => <li key={r.id}><span><span className="dim">{t.explain.role}</span> <Name of={r.name} /></span><Id of={r.id} /></li>)}
            {would.leftBehind.grants.map(g => <li key={g.id}><span><SubjectName of={g.subject} /> <Id of={g.roleId ?? g.pattern ?? ''} /></span></li>)}
          </ul>
          <div className="row"><Button kind="main" reason={lacks} onPress={() => set({ act: 'back' }, false)}>{words.giveBack}</Button></div>
        </section>
      )}
      {would && act === 'back' && (
        <Review
          title={words.backTitle(visible(a.name))} submit={words.backNow} danger typed={a.id} onSure={back} onBack={() => set({ act: undefined })} about={next}
          steps={[{ sign: '→', text: <>{words.moves} → <Id of={a.id} /> {words.backTo}</> }]}
        >
          <Counts of={would.exported} />
          <p className="dim">{words.waits} {words.moving}</p>
        </Review>
      )}
    </>
  )
}

function Counts({ of }: { of: Counted }) {
  return <div className="counts">{(Object.keys(words.counts) as Array<keyof Counted>).map(k => <div key={k}><strong>{number.format(of[k])}</strong> <span className="dim">{words.counts[k]}</span></div>)}</div>
}

function Warnings({ of }: { of: string[] }) {
  if (of.length === 0) return null
  return <div className="note mind"><div className="grow"><p><strong>{words.warnings(of.length)}</strong></p><ul className="bounded">{of.map((w, i) => <li key={i}><Name of={w} /></li>)}</ul></div></div>
}
