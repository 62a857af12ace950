import { useNavigate, useSearch } from '@tanstack/react-router'
import { useOrg, usePages } from '../../api/queries.ts'
import type { Entry } from '../../api/schema.gen.ts'
import { t } from '../../text/en.ts'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, ScopeName, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { Decide } from './Decide.tsx'

const columns: Array<Column<Entry>> = [
  { id: 'who', title: t.inbox.who, width: 'minmax(0, 1fr)', cell: e => <Name of={e.request.requesterUserId} /> },
  { id: 'what', title: t.inbox.what, width: 'minmax(0, 1.2fr)', cell: e => (e.request.roleId ? <><span className="dim">{t.explain.role}</span> <Name of={e.request.roleId} /></> : <Id of={e.request.pattern ?? ''} />) },
  { id: 'scope', title: t.grants.scope, width: 'minmax(0, 1fr)', cell: e => <ScopeName of={e.request.scope} /> },
  { id: 'stage', title: t.inbox.stage, width: '90px', least: true, cell: e => <span className="dim">{t.inbox.stageOf(e.request.stageIndex + 1, e.request.stages.length)}</span> },
  { id: 'at', title: t.inbox.since, width: '108px', cell: e => <span className="dim"><Time at={e.request.createdAt} date /></span> },
]

export function Inbox() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/inbox' })
  const { open, from } = useSearch({ from: '/signed-in/orgs/$org/inbox' })
  const pages = usePages('GET /orgs/{org}/requests/queue', { path: { org } }, p => p.entries)
  const unavailable = pages.pages?.flatMap(p => p.unavailable) ?? []
  const close = () => {
    void navigate({ search: {}, replace: true })
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.grid .scroll')?.focus()) // where the keyboard was
  }
  return (
    <Page title={t.inbox.title} lead={t.inbox.lead} full>
      {unavailable.length > 0 && <div className="note mind" role="alert"><p>{t.person.missing} {unavailable.map(u => `${u.application || t.person.root} (${u.code})`).join(', ')}</p></div>}
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <div className={open ? 'beside open' : 'beside'}>
          <Grid
            label={t.inbox.title} columns={columns} rowId={e => e.request.id} {...pages.grid} empty={<Empty title={t.inbox.none}><p>{t.inbox.noneHint}</p></Empty>}
            onOpen={e => void navigate({ search: { open: e.request.id, ...(e.application ? { from: e.application } : {}) }, replace: !!open })}
          />
          {open && <Decide key={open} org={org} id={open} application={from} onClose={close} onDecided={() => (close(), void pages.refetch())} />}
        </div>
      )}
    </Page>
  )
}
