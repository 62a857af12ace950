import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { type ReactNode, useEffect, useRef } from 'react'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, useOrg } from '../../api/queries.ts'
import { visible } from '../../domain/visible.ts'
import { reports as t } from '../../text/reports.ts'
import { Filter } from '../../ui/Filter.tsx'
import { Page } from '../../ui/Page.tsx'
import { Chain } from './Chain.tsx'
import { Entitled } from './Entitled.tsx'
import { Sod } from './Sod.tsx'
import { Wildcards } from './Wildcards.tsx'

const tabs = ['sod', 'entitlements', 'wildcards', 'chain'] as const

/** Reports for auditors, of the org root's rows or of an application's. */
export function Reports() {
  const org = useOrg()
  const search = useSearch({ from: '/signed-in/orgs/$org/reports' })
  const navigate = useNavigate({ from: '/orgs/$org/reports' })
  const { home = '', user = '' } = search
  const tab = tabs.find(k => k === search.tab) ?? 'sod'
  const nav = useRef<HTMLElement>(null)
  useEffect(() => nav.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }), [tab])
  const frame = (filters: ReactNode) => (
    <div className="filters">
      <Homes org={org} home={home} onChange={home => void navigate({ search: old => ({ ...old, home, at: undefined, id: undefined, hash: undefined }) })} />
      {filters}
    </div>
  )
  const person = (taken: ReactNode) => frame(<><Filter first label={t.user} value={user} onChange={user => void navigate({ search: old => ({ ...old, user }), replace: true })} />{taken}</>)
  return (
    <Page title={t.title} lead={t.leads[tab]} full>
      <nav className="tabs" ref={nav} aria-label={t.views}>
        {tabs.map(k => <Link key={k} to="/orgs/$org/reports" params={{ org }} search={old => ({ ...(old.home ? { home: old.home } : {}), ...(k === 'sod' ? {} : { tab: k }) })} aria-current={k === tab ? 'page' : undefined} className={k === tab ? 'active' : undefined} activeOptions={{ exact: true, explicitUndefined: true }}>{t.tabs[k]}</Link>)}
      </nav>
      {tab === 'sod' && <Sod org={org} home={home} user={user} frame={person} />}
      {tab === 'entitlements' && <Entitled org={org} home={home} user={user} frame={person} />}
      {tab === 'wildcards' && <Wildcards org={org} home={home} frame={frame} />}
      {tab === 'chain' && <>{frame(null)}<Chain key={home} org={org} home={home} /></>}
    </Page>
  )
}

/** Whose rows: the org root's, or an application's. */
function Homes({ org, home, onChange }: { org: string; home: string; onChange: (home: string | undefined) => void }) {
  const me = useMe()
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: holds(me.data, 'cloud.applications.read') === 'yes' })
  const list = apps.data?.applications.filter(a => a.state !== 'registered') ?? []
  return (
    <select className="input" aria-label={t.home} value={home} onChange={e => onChange(e.target.value || undefined)}>
      <option value="">{t.root}</option>
      {list.map(a => <option key={a.id} value={a.id}>{visible(a.name)}</option>)}
      {home && !list.some(a => a.id === home) && <option value={home}>{visible(home)}</option>}
    </select>
  )
}
