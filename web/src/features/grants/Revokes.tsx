import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useAsk, useMe, useOrg, usePages } from '../../api/queries.ts'
import { writer } from '../../api/rows.ts'
import type { Revoke } from '../../api/schema.gen.ts'
import { rv } from '../../text/revokes.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeLink, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { revokesKey } from './gate.ts'
import { Homes } from './Homes.tsx'
import { OneRevoke } from './OneRevoke.tsx'

export function Revokes() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/revokes' })
  const search = useSearch({ from: '/signed-in/orgs/$org/revokes' })
  const { home = '', user = '', scope = '', open } = search
  const me = useMe()
  const { by, key } = writer(me.data, revokesKey, home)
  const query = { userId: user, scope: scope || undefined }
  const path = { org, app: home }
  const root = usePages('GET /orgs/{org}/org/revokes', { path: { org }, query }, p => p.revokes as Revoke[], { on: home === '' })
  const app = usePages('GET /orgs/{org}/applications/{app}/revokes', { path, query }, p => p.revokes, { on: home !== '' })
  const rootCount = useAsk('GET /orgs/{org}/org/revokes/count', { path: { org }, query }, { on: home === '' })
  const appCount = useAsk('GET /orgs/{org}/applications/{app}/revokes/count', { path, query }, { on: home !== '' })
  const pages = home ? app : root
  const set = (next: Partial<typeof search>, replace = true) => void navigate({ search: old => ({ ...old, open: undefined, ...next }), replace })
  const columns: Array<Column<Revoke>> = [
    { id: 'user', title: t.revokes.user, width: 'minmax(0, 1fr)', cell: r => <Link to="/orgs/$org/people/$id" params={{ org, id: r.userId }}><Name of={r.userId} /></Link> },
    { id: 'pattern', title: t.revokes.pattern, width: 'minmax(0, 1.2fr)', cell: r => <Id of={r.pattern} /> },
    { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1.2fr)', cell: r => <ScopeLink org={org} of={r.scope} /> },
    { id: 'by', title: t.grants.by, width: 'minmax(0, 0.6fr)', least: true, cell: r => <span className="dim"><Name of={r.provenance.actorUserId ?? r.provenance.kind} /></span> },
    { id: 'made', title: t.grants.made, width: '108px', least: true, cell: r => <span className="dim"><Time at={r.createdAt} date /></span> },
  ]
  return (
    <Page
      title={t.revokes.title} lead={t.revokes.lead} full
      actions={by ? <Link className="button main" to="/orgs/$org/revokes/new" params={{ org }} search={{ user }}>{rv.new}</Link> : <Button reason={t.needs(key)}>{rv.new}</Button>}
    >
      <div className="filters">
        <Homes org={org} home={home} onChange={home => set({ home, scope: undefined }, false)} />
        <Filter first label={t.revokes.user} value={user} onChange={user => set({ user })} />
        {home && <Filter mono label={t.grants.scope} placeholder={t.grants.scopeHint} value={scope} onChange={scope => set({ scope })} />}
      </div>
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <div className={open ? 'beside open' : 'beside'}>
          <Grid
            label={t.revokes.title} columns={open ? columns.slice(0, 3) : columns} rowId={r => r.id} {...pages.grid} total={(home ? appCount : rootCount).data?.count}
            onOpen={r => set({ open: r.id }, !!open)} empty={<Empty title={user || scope ? t.grid.hidden : t.revokes.none} />}
          />
          {open && <OneRevoke key={open} org={org} id={open} home={home} onClose={() => set({})} />}
        </div>
      )}
    </Page>
  )
}
