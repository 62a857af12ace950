import { useNavigate, useSearch } from '@tanstack/react-router'
import { holds } from '../../api/gates.ts'
import { useAsk, useMe, useOrg } from '../../api/queries.ts'
import type { AuditEntry } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Filter } from '../../ui/Filter.tsx'
import { type Column, Grid } from '../../ui/Grid.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Page } from '../../ui/Page.tsx'
import { Empty, Failed } from '../../ui/States.tsx'
import { About } from './About.tsx'
import { Event } from './Event.tsx'
import { useExport } from './Export.tsx'
import { account, useLog } from './log.ts'

const columns: Array<Column<AuditEntry>> = [
  { id: 'action', title: t.audit.action, width: 'minmax(118px, 1fr)', cell: e => <Id of={e.action} /> },
  { id: 'about', title: t.audit.about, width: 'minmax(0, 2fr)', cell: e => <span className="keeps"><span className="cut"><About of={e} /></span></span> },
  { id: 'actor', title: t.audit.actor, width: 'minmax(0, 0.8fr)', cell: e => <Name of={e.actor} /> },
  { id: 'at', title: t.audit.at, width: '150px', cell: e => <span className="dim"><Time at={e.at} /></span> },
]

/** Who changed what: a log from its newest event backwards. */
export function Audit() {
  const org = useOrg()
  const navigate = useNavigate({ from: '/orgs/$org/audit' })
  const search = useSearch({ from: '/signed-in/orgs/$org/audit' })
  const { log = '', actor = '', action = '', target = '', subject = '', from = '', to = '', event = '' } = search
  const filter = { actor, action, target, subject, from, to }
  const filtered = Object.values(filter).some(Boolean)
  const pages = useLog(org, log, filter)
  const taken = useExport(org, log, filter)
  const set = (next: Partial<typeof search>, replace = true) => void navigate({ search: old => ({ ...old, event: undefined, ...next }), replace })
  const dot = event.indexOf('.')
  const at = Number(event.slice(0, dot))
  const id = event.slice(dot + 1)
  const opened = dot > 0 && Number.isSafeInteger(at) && id !== ''
  return (
    <Page title={t.audit.title} lead={log === account ? t.audit.leadAccount : log ? t.audit.leadApp : t.audit.lead} full actions={taken.button}>
      <div className="filters">
        <Logs org={org} log={log} onChange={log => set({ log }, false)} />
        <Filter first label={t.audit.subject} placeholder={t.audit.subjectHint} value={subject} onChange={subject => set({ subject })} />
        <Filter label={t.audit.actor} value={actor} onChange={actor => set({ actor })} />
        <Filter mono label={t.audit.action} placeholder={t.audit.actionHint} value={action} onChange={action => set({ action })} />
        <Filter mono label={t.audit.target} placeholder={t.audit.targetHint} value={target} onChange={target => set({ target })} />
        <label className="row"><span className="dim">{t.audit.from}</span><input className="input" type="date" value={from} max={to || undefined} onChange={e => set({ from: e.target.value || undefined })} /></label>
        <label className="row"><span className="dim">{t.audit.to}</span><input className="input" type="date" value={to} min={from || undefined} onChange={e => set({ to: e.target.value || undefined })} /></label>
      </div>
      {taken.trouble}
      {pages.error ? <Failed of={pages.error} retry={() => void pages.refetch()} /> : (
        <div className={opened ? 'beside open' : 'beside'}>
          <Grid
            label={t.audit.title} columns={columns} lines={3} rowId={e => `${e.at}.${e.id}`} {...pages.grid} empty={<Empty title={filtered ? t.grid.hidden : t.audit.none} />}
            onOpen={e => void navigate({ search: old => ({ ...old, event: `${e.at}.${e.id}` }), replace: event !== '' })}
          />
          {opened && <Event key={event} org={org} log={log} id={id} at={at} listed={pages.list.find(e => e.id === id && e.at === at)} onClose={() => set({})} />}
        </div>
      )}
    </Page>
  )
}

/** Which log: the organization's, this service's own, or an application's. */
function Logs({ org, log, onChange }: { org: string; log: string; onChange: (log: string | undefined) => void }) {
  const me = useMe()
  const apps = useAsk('GET /orgs/{org}/applications', { path: { org }, query: { limit: 200 } }, { on: holds(me.data, 'cloud.applications.read') === 'yes' })
  const list = apps.data?.applications.filter(a => a.state !== 'registered') ?? []
  return (
    <select className="input" aria-label={t.audit.log} value={log} onChange={e => onChange(e.target.value || undefined)}>
      <option value="">{t.audit.org}</option>
      <option value={account}>{t.audit.account}</option>
      {list.map(a => <option key={a.id} value={a.id}>{visible(a.name)}</option>)}
      {log && log !== account && !list.some(a => a.id === log) && <option value={log}>{visible(log)}</option>}
    </select>
  )
}
