import { Link } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'

interface Props {
  label: string
  to: '/orgs/$org/people/$id' | '/orgs/$org/groups/$id' | '/orgs/$org/roles/$id' | '/orgs/$org/applications/$id'
  org: string
  id: string
  /** The views; the first is that of the bare address. */
  tabs: Array<readonly [key: string, label: string]>
}

/** The views of one thing, each with an address. */
export function Tabs({ label, to, org, id, tabs }: Props) {
  const nav = useRef<HTMLElement>(null)
  useEffect(() => nav.current?.querySelector('.active')?.scrollIntoView({ block: 'nearest', inline: 'nearest' }))
  return (
    <nav className="tabs" aria-label={label} ref={nav}>
      {tabs.map(([key, title], i) => (
        <Link key={key} to={to} params={{ org, id }} search={{ tab: i === 0 ? undefined : key }} activeOptions={{ exact: false, explicitUndefined: true }}>{title}</Link>
      ))}
    </nav>
  )
}
