import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, type ReactNode, useState } from 'react'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, useOrg, useVocabulary } from '../../api/queries.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Choose } from '../../ui/Choose.tsx'
import { Id, Name } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Failed, Waiting } from '../../ui/States.tsx'

interface Need {
  id: string
  text: ReactNode
  kind: 'mind' | 'no'
  tag: string
  link?: ReactNode
}

export function Home() {
  const org = useOrg()
  const path = { org }
  const me = useMe()
  const may = (key: string) => holds(me.data, key) === 'yes'
  const one = useAsk('GET /orgs/{org}', { path })
  const queue = useAsk('GET /orgs/{org}/requests/queue/count', { path }, { on: !!me.data && me.data.orgRoot.home !== 'none' })
  const apps = useAsk('GET /orgs/{org}/applications', { path, query: { limit: 200 } }, { on: may('cloud.applications.read') })
  const usage = useAsk('GET /orgs/{org}/billing/usage', { path }, { on: may('cloud.billing.read') })
  const drift = useAsk('GET /orgs/{org}/registry/drift', { path }, { on: may('cloud.registry.read') })
  const sources = [queue, apps, usage, drift]
  const needs: Need[] = []
  if (queue.data?.count) {
    needs.push({ id: 'queue', kind: 'mind', tag: t.home.decide, text: t.home.waiting(queue.data.count), link: <Link className="button small" to="/orgs/$org/inbox" params={path}>{t.home.open}</Link> })
  }
  for (const u of queue.data?.unavailable ?? []) needs.push({ id: 'u' + u.application, kind: 'no', tag: t.home.silent, text: <>{t.home.notAsked} <Name of={u.application} /> <code>{u.code}</code></> })
  for (const a of apps.data?.applications ?? []) {
    const one = { kind: 'no' as const, tag: t.home.application, link: <Link className="button small" to="/orgs/$org/applications/$id" params={{ org, id: a.id }}>{t.home.open}</Link> }
    if (a.health && !['healthy', 'unverified'].includes(a.health.status)) needs.push({ ...one, id: 'a' + a.id, text: <><Name of={a.name} />: {t.health[a.health.status] ?? a.health.status}</> })
    if (a.state === 'registered') needs.push({ ...one, id: 'l' + a.id, kind: 'mind', text: <><Name of={a.name} />: {t.home.notLinked}</> })
    if (a.operation?.trouble) needs.push({ ...one, id: 'o' + a.id, text: <><Name of={a.name} />: <Name of={a.operation.trouble} /></> })
  }
  for (const d of usage.data?.dimensions ?? []) {
    if (d.state !== 'under') needs.push({ id: 'm' + d.dimension, kind: 'mind', tag: t.home.cap, text: t.home.capReached(d.dimension.replaceAll('_', ' '), d.value, d.cap ?? 0), link: <Link className="button small" to="/orgs/$org/usage" params={path}>{t.home.open}</Link> })
  }
  const drifts = <Link className="button small" to="/orgs/$org/drift" params={path}>{t.home.open}</Link>
  if (drift.data?.roles.length) needs.push({ id: 'dr', kind: 'mind', tag: t.home.drift, text: t.home.driftRoles(drift.data.roles.length), link: drifts })
  if (drift.data?.grants.length) needs.push({ id: 'dg', kind: 'mind', tag: t.home.drift, text: t.home.driftGrants(drift.data.grants.length), link: drifts })
  if (drift.data?.imports.length) needs.push({ id: 'di', kind: 'mind', tag: t.home.drift, text: t.home.driftImports(drift.data.imports.length), link: drifts })
  const waiting = !me.data || sources.some(s => s.isLoading)
  return (
    <Page title={one.data?.org.name ?? org} lead={me.data?.seat ? t.home.lead(t.seatKinds[me.data.seat.kind] ?? me.data.seat.kind) : undefined}>
      {may('authz_internal.access.read') && <Ask />}
      <section className="card">
        <header><h2>{t.home.needs}</h2></header>
        {me.error ? <Failed of={me.error} retry={() => void me.refetch()} /> : null}
        {sources.map((s, i) => s.error ? <Failed key={i} of={s.error} retry={() => void s.refetch()} /> : null)}
        <ul className="list">
          {needs.map(n => (
            <li key={n.id}>
              <span className="row grow"><span className={'tag ' + n.kind}>{n.tag}</span><span>{n.text}</span></span>
              {n.link}
            </li>
          ))}
        </ul>
        {waiting && needs.length === 0 && <Waiting lines={3} />}
        {!waiting && needs.length === 0 && !sources.some(s => s.error) && <p className="dim">{t.home.nothing}</p>}
      </section>
      {apps.data && apps.data.applications.length > 0 && (
        <section className="card">
          <header><h2>{t.home.applications}</h2></header>
          <ul className="list">
            {apps.data.applications.map(a => (
              <li key={a.id}>
                <span className="grow"><Link to="/orgs/$org/applications/$id" params={{ org, id: a.id }}><Name of={a.name} /></Link> <Id of={a.id} /> <span className="dim small">{a.namespaces.map(visible).join(', ')}</span></span>
                {a.state === 'registered' ? <span className="tag mind">{t.home.unlinked}</span> : a.health?.status === 'healthy' ? <span className="tag yes">{t.home.healthy}</span> : <span className={!a.health || a.health.status === 'unverified' ? 'tag' : 'tag no'}>{a.health?.status ?? 'unverified'}</span>}
              </li>
            ))}
          </ul>
        </section>
      )}
    </Page>
  )
}

/** The question that brings most people here. */
function Ask() {
  const org = useOrg()
  const navigate = useNavigate()
  const [asked, setAsked] = useState(false)
  const words = useVocabulary(asked)
  const [who, setWho] = useState('')
  const [key, setKey] = useState('')
  const [scope, setScope] = useState('')
  const people = useAsk('GET /orgs/{org}/org/users', { path: { org }, query: { q: who, limit: 8 } }, { on: who !== '', keep: true })
  function submit(e: FormEvent) {
    e.preventDefault()
    const service = who.startsWith('service:')
    void navigate({ to: '/orgs/$org/explain', params: { org }, search: { ...(service ? { service: who.slice(8) } : who ? { user: who } : {}), key, scope: scope || '*' } })
  }
  return (
    <form className="card form" onSubmit={submit} onFocus={() => setAsked(true)}>
      <h2>{t.home.ask}</h2>
      <div className="fields ask">
        <Choose label={t.explain.who} value={who} onChange={setWho} choices={(people.data?.users ?? []).map(u => ({ id: u.userId }))} placeholder={t.explain.whoHint} />
        <Choose label={t.explain.key} value={key} onChange={setKey} choices={(words.data?.leaves ?? []).map(l => ({ id: l.key, note: l.description }))} mono required />
        <Choose label={t.explain.scope} value={scope} onChange={setScope} choices={[]} placeholder={t.explain.scopeHint} mono />
        <div className="field"><span className="label spacer" aria-hidden="true">&nbsp;</span><Button kind="main" type="submit">{t.explain.submit}</Button></div>
      </div>
    </form>
  )
}
