import { useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, useOrg } from '../../api/queries.ts'
import type { Event as Copy } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t as all } from '../../text/en.ts'
import { retained as t } from '../../text/reports.ts'
import { Button } from '../../ui/Button.tsx'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { About } from './About.tsx'
import { Detail, Facts } from './Event.tsx'
import { query } from './log.ts'
import { useRetained } from './taking.tsx'

const most = 1000
const exports = 'cloud.retention.export_audit'

const columns: Array<Column<Copy>> = [
  { id: 'action', title: all.audit.action, width: 'minmax(0, 1fr)', cell: e => <Id of={e.action} /> },
  { id: 'about', title: all.audit.about, width: 'minmax(0, 1.8fr)', cell: e => <span className="keeps"><span className="cut"><About of={e} /></span></span> },
  { id: 'actor', title: all.audit.actor, width: 'minmax(0, 0.8fr)', cell: e => <Name of={e.actor} /> },
  { id: 'at', title: all.audit.at, width: '150px', cell: e => <span className="dim"><Time at={e.at} /></span> },
  { id: 'application', title: t.application, width: 'minmax(0, 0.7fr)', least: true, cell: e => <Name of={e.application} /> },
]

const idOf = (e: Copy) => `${e.application} ${e.at}.${e.id}`

/** Events that were copied from applications' logs, and stay. */
export function Retained() {
  const org = useOrg()
  const me = useMe()
  const navigate = useNavigate({ from: '/orgs/$org/retained' })
  const search = useSearch({ from: '/signed-in/orgs/$org/retained' })
  const { application = '', actor = '', action = '', target = '', from = '', to = '', event = '' } = search
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: holds(me.data, 'cloud.applications.read') === 'yes' })
  const { subject: _, ...days } = query({ actor, action, target, subject: '', from, to })
  const filter = { ...days, application: application || undefined }
  const list = useAsk('GET /orgs/{org}/retention', { path: { org }, query: { ...filter, limit: most } }, { keep: true })
  const taken = useRetained(org, filter)
  const rows = list.data?.events.toReversed() ?? []
  const opened = rows.find(e => idOf(e) === event)
  const set = (next: Partial<typeof search>, replace = true) => void navigate({ search: old => ({ ...old, event: undefined, ...next }), replace })
  const linked = apps.data?.applications ?? []
  const may = holds(me.data, exports) === 'yes' || (application !== '' && holds(me.data, exports, 'cloud.app:' + application) === 'yes')
  return (
    <Page title={t.title} lead={t.lead} full actions={may ? taken.button : <Button reason={all.needs(exports)}>{t.take}</Button>}>
      <div className="filters">
        <select className="input" aria-label={t.application} value={application} onChange={e => set({ application: e.target.value || undefined }, false)}>
          <option value="">{t.anyApplication}</option>
          {linked.map(a => <option key={a.id} value={a.id}>{visible(a.name)}</option>)}
          {application && !linked.some(a => a.id === application) && <option value={application}>{visible(application)}</option>}
        </select>
        <Filter first label={all.audit.actor} value={actor} onChange={actor => set({ actor })} />
        <Filter mono label={all.audit.action} value={action} onChange={action => set({ action })} />
        <Filter mono label={all.audit.target} placeholder={all.audit.targetHint} value={target} onChange={target => set({ target })} />
        <label className="row"><span className="dim">{all.audit.from}</span><input className="input" type="date" value={from} max={to || undefined} onChange={e => set({ from: e.target.value || undefined })} /></label>
        <label className="row"><span className="dim">{all.audit.to}</span><input className="input" type="date" value={to} min={from || undefined} onChange={e => set({ to: e.target.value || undefined })} /></label>
      </div>
      {taken.trouble}
      {list.error ? <Failed of={list.error} retry={() => void list.refetch()} /> : (
        <div className={opened ? 'beside open' : 'beside'}>
          <Grid
            label={t.title} rows={rows} columns={columns} lines={3} rowId={idOf} isLoading={list.isFetching} onOpen={e => set({ event: idOf(e) }, event !== '')}
            empty={<Empty title={application || actor || action || target || from || to ? all.grid.hidden : t.none}><p>{t.noneHint}</p></Empty>} foot={rows.length === most && <span>{t.first(most)}</span>}
          />
          {opened && (
            <aside className="card stack" aria-label={all.audit.one} onKeyDown={e => e.key === 'Escape' && set({})}>
              <header className="row far"><h2>{all.audit.one}</h2><Button small kind="bare" label={all.close} onPress={() => set({})}>×</Button></header>
              <Facts org={org} of={opened} />
              <dl className="facts"><dt>{t.application}</dt><dd><Name of={opened.application} /></dd><dt>{t.ingested}</dt><dd><Time at={opened.ingestedAt} /></dd></dl>
              <Detail of={opened} />
            </aside>
          )}
        </div>
      )}
    </Page>
  )
}
