import { Link } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import type { AuditEntry } from '../../api/schema.gen.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { Button } from '../../ui/Button.tsx'
import { Id, Name, Time } from '../../ui/Id.tsx'
import { Loaded } from '../../ui/States.tsx'
import { say } from '../../ui/Toasts.tsx'
import { useEvent } from './log.ts'

interface Props {
  org: string
  log: string
  id: string
  at: number
  /** As the list has it: its details may be left out. */
  listed: AuditEntry | undefined
  onClose: () => void
}

/** One event, as text and as JSON. */
export function Event({ org, log, id, at, listed, onClose }: Props) {
  const [whole, setWhole] = useState(false)
  const short = listed !== undefined && listed.detailBytes !== undefined && !whole
  const one = useEvent(org, log, id, at, listed === undefined || whole)
  return (
    <aside className="card stack" aria-label={t.audit.one} onKeyDown={e => e.key === 'Escape' && onClose()}>
      <header className="row far"><h2>{t.audit.one}</h2><Button small kind="bare" label={t.close} onPress={onClose}>×</Button></header>
      {listed && (short || !whole) ? (
        <>
          <Facts org={org} of={listed} />
          {short ? <div className="row"><span className="dim">{t.audit.left(listed.detailBytes ?? 0)}</span><Button small onPress={() => setWhole(true)}>{t.audit.whole}</Button></div> : <Detail of={listed} />}
        </>
      ) : <Loaded of={one}>{({ event }) => <div className="stack"><Facts org={org} of={event} /><Detail of={event} /></div>}</Loaded>}
    </aside>
  )
}

export function Facts({ org, of: e }: { org: string; of: AuditEntry }) {
  return (
    <dl className="facts">
      <dt>{t.audit.at}</dt><dd><Time at={e.at} /></dd>
      <dt>{t.audit.actor}</dt><dd>{e.actor.includes(':') || !e.actor ? <Name of={e.actor} /> : <Link to="/orgs/$org/people/$id" params={{ org, id: e.actor }}><Name of={e.actor} /></Link>}</dd>
      <dt>{t.audit.action}</dt><dd><Id of={e.action} /></dd>
      <dt>{t.audit.target}</dt><dd><Id of={e.target} /></dd>
      {e.hash && <><dt>{t.audit.hash}</dt><dd><Id of={e.hash} /></dd></>}
    </dl>
  )
}

const most = 50_000 // characters that are shown

export function Detail({ of: e }: { of: AuditEntry }) {
  const text = JSON.stringify(e, null, 2)
  async function copy(what: string, done: string) {
    await navigator.clipboard.writeText(what)
    say(done)
  }
  return (
    <>
      {e.detail !== undefined && e.detail !== null && <div><h3>{t.audit.detail}</h3><Told of={e.detail} /></div>}
      <details>
        <summary>{t.audit.json}</summary>
        <pre className="bounded json" tabIndex={0} aria-label={t.audit.json}>{text.slice(0, most).split('\n').map(visible).join('\n')}</pre>
        {text.length > most && <p className="small dim">{t.audit.longer}</p>}
      </details>
      <div className="row"><Button small onPress={() => void copy(location.href, t.explain.linkCopied)}>{t.explain.copyLink}</Button><Button small onPress={() => void copy(text, t.audit.copied)}>{t.audit.copy}</Button></div>
    </>
  )
}

const few = 40
const deep = 4

/** A value as a reader tells it: members below their names. */
function Told({ of, depth = 0 }: { of: unknown; depth?: number }): ReactNode {
  if (typeof of !== 'object' || of === null) return <Id of={typeof of === 'string' ? of : String(of)} />
  const members = Array.isArray(of) ? of.map((v, i) => [String(i + 1), v] as const) : Object.entries(of)
  if (members.length === 0 || depth >= deep) return <Id of={JSON.stringify(of)} />
  return (
    <>
      <dl className={depth === 0 ? 'facts' : 'facts nested'}>
        {members.slice(0, few).map(([name, value]) => <div className="pair" key={name}><dt><Name of={name} /></dt><dd>{moment(name, value) ?? <Told of={value} depth={depth + 1} />}</dd></div>)}
      </dl>
      {members.length > few && <p className="small dim">{t.explain.rest(members.length - few)}</p>}
    </>
  )
}

const moment = (name: string, value: unknown) => (typeof value === 'number' && value > 1e12 && /(At|Until)$/.test(name) ? <Time at={value} /> : null)
