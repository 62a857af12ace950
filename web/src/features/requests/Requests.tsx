import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useMe, useOrg, usePages, useVocabulary } from '../../api/queries.ts'
import type { Entry } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Name, ScopeName, Time, What } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { State } from './Facts.tsx'

const states = ['pending', 'approved', 'denied', 'cancelled'] as const
const lists = ['mine', 'decided', 'all'] as const
const reads = 'authz_internal.requests.read'

/** What was asked for: by the reader, decided by them, or by anybody. */
export function Requests() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/requests' })
  const search = useSearch({ from: '/signed-in/orgs/$org/requests' })
  const { home = '', who = '' } = search
  const list = lists.find(l => l === search.list) ?? 'mine'
  const state = states.find(s => s === search.state)
  const me = useMe()
  const words = useVocabulary()
  const query = { ...(list === 'mine' ? { mine: '1' } : list === 'decided' ? { decided: '1' } : { requesterUserId: who }) as { mine?: '1' }, ...(state ? { state } : {}), application: home }
  const pages = usePages('GET /orgs/{org}/requests', { path: { org }, query }, p => p.entries)
  const unavailable = pages.pages?.flatMap(p => p.unavailable) ?? []
  const set = (next: Partial<typeof search>, replace = false) => void navigate({ search: old => ({ ...old, ...next }), replace })
  const applications = [...new Set(words.data?.owners.values() ?? [])].sort()
  const columns: Array<Column<Entry>> = [
    { id: 'what', title: t.inbox.what, width: 'minmax(0, 1.2fr)', cell: e => <Link to="/orgs/$org/requests/$id" params={{ org, id: e.request.id }} search={e.application ? { from: e.application } : {}}><What of={e.request} /></Link> },
    ...(list === 'mine' ? [] : [{ id: 'who', title: t.inbox.who, width: 'minmax(0, 1fr)', cell: (e: Entry) => <Name of={e.request.requesterUserId} /> }]),
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1fr)', cell: e => <ScopeName of={e.request.scope} /> },
    { id: 'state', title: t.requests.state, width: '92px', cell: e => <State of={e.request.state} /> },
    { id: 'stage', title: t.inbox.stage, width: '72px', least: true, cell: e => <span className="dim">{t.inbox.stageOf(Math.min(e.request.stageIndex + 1, e.request.stages.length), e.request.stages.length)}</span> },
    { id: 'at', title: t.inbox.since, width: '108px', cell: e => <span className="dim"><Time at={e.request.createdAt} date /></span> },
  ]
  const none = { mine: t.requests.none, decided: t.requests.noneDecided, all: t.requests.noneAll }[list]
  return (
    <Page
      title={t.requests.title} lead={{ mine: t.requests.lead, decided: t.requests.leadDecided, all: t.requests.leadAll }[list]} full
      actions={<Link className="button main" to="/orgs/$org/ask" params={{ org }}>{t.ask.title}</Link>}
    >
      <div className="filters">
        <div className="chips" role="group" aria-label={t.requests.lists}>
          {lists.map(l => l === 'all' && holds(me.data, reads) === 'no' ? <Button key={l} small reason={t.needs(reads)}>{t.requests.all}</Button> : (
            <button key={l} type="button" className="chip" aria-pressed={list === l} onClick={() => set({ list: l === 'mine' ? undefined : l, who: undefined })}>{t.requests[l]}</button>
          ))}
        </div>
        <select className="input" aria-label={t.requests.state} value={state ?? ''} onChange={e => set({ state: e.target.value || undefined })}>
          <option value="">{t.requests.anyState}</option>
          {states.map(s => <option key={s} value={s}>{t.requests.states[s]}</option>)}
        </select>
        <select className="input" aria-label={t.requests.home} value={home} onChange={e => set({ home: e.target.value || undefined })}>
          <option value="">{t.requests.root}</option>
          {applications.map(a => <option key={a} value={a}>{visible(a)}</option>)}
          {home && !applications.includes(home) && <option value={home}>{visible(home)}</option>}
        </select>
        {list === 'all' && <Filter first label={t.requests.who} value={who} onChange={who => set({ who }, true)} />}
      </div>
      {unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.person.missing} {unavailable.map(u => `${visible(u.application) || t.person.root} (${u.code})`).join(', ')}</p></div>}
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <Grid
          label={t.requests.title} columns={columns} rowId={e => `${e.application ?? ''} ${e.request.id}`} {...pages.grid}
          onOpen={e => void navigate({ to: '/orgs/$org/requests/$id', params: { org, id: e.request.id }, search: e.application ? { from: e.application } : {} })}
          empty={<Empty title={state || who ? t.grid.hidden : none}>{list === 'mine' && !state && <p>{t.requests.noneHint} <Link to="/orgs/$org/inbox" params={{ org }}>{t.requests.toInbox}</Link></p>}</Empty>}
        />
      )}
    </Page>
  )
}
