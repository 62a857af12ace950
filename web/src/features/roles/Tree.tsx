import { useMemo, useState } from 'react'
import { type KeyGroup, keyTree, type Leaf, wildcardOver } from '../../domain/catalog.ts'
import { visible } from '../../domain/visible.ts'
import { t } from '../../text/en.ts'
import { r } from '../../text/roles.ts'
import { Key, Name } from '../../ui/Id.tsx'

interface Props {
  leaves: Leaf[]
  patterns: string[]
  onChange: (patterns: string[]) => void
}

const most = 200 // rows of keys that are found

/** The keys of all catalogs as a tree: a key is chosen, or all below a name. */
export function Tree({ leaves, patterns, onChange }: Props) {
  const [text, setText] = useState('')
  const q = text.trim().toLowerCase()
  const found = useMemo(() => (q ? leaves.filter(l => l.key.toLowerCase().includes(q) || l.description.toLowerCase().includes(q)) : leaves), [leaves, q])
  const shown = q ? found.slice(0, most) : found
  const groups = useMemo(() => keyTree(shown), [shown])
  const toggle = (pattern: string) => onChange(patterns.includes(pattern) ? patterns.filter(p => p !== pattern) : [...patterns, pattern])
  return (
    <section className="card stack close" aria-label={r.tree}>
      <header><h2>{r.tree}</h2><span className="small dim">{r.treeHint}</span></header>
      <input className="input" type="search" aria-label={r.find} placeholder={r.find} value={text} onChange={e => setText(e.target.value)} onKeyDown={e => e.key === 'Enter' && e.preventDefault()} autoComplete="off" spellCheck={false} autoCapitalize="none" />
      <ul className="tree bounded">
        {groups.map(g => <Branch key={g.path + q} group={g} patterns={patterns} toggle={toggle} begin={q !== '' || groups.length <= 8} all={q !== ''} />)}
      </ul>
      {found.length > shown.length && <p className="small dim">{r.first(most)}</p>}
      {found.length === 0 && <p className="dim">{r.noKeys}</p>}
    </section>
  )
}

/** A group of keys; its own are drawn once it is opened. */
function Branch({ group, patterns, toggle, begin, all }: { group: KeyGroup; patterns: string[]; toggle: (pattern: string) => void; begin: boolean; all: boolean }) {
  const [open, setOpen] = useState(begin)
  const pattern = group.path + '.*'
  const by = wildcardOver(patterns.filter(p => p !== pattern), group.path + '.')
  return (
    <li>
      <div className="row">
        <button type="button" className="button bare small" aria-expanded={open} aria-label={r.open(visible(group.path))} onClick={() => setOpen(!open)}><span aria-hidden="true">{open ? '▾' : '▸'}</span></button>
        <label className="grow"><input type="checkbox" checked={by !== undefined || patterns.includes(pattern)} disabled={by !== undefined} onChange={() => toggle(pattern)} /> <Key of={pattern} /></label>
        <span className="small dim">{by !== undefined ? r.by(visible(by)) : r.count(group.count)}</span>
      </div>
      {open && (
        <ul>
          {group.groups.map(g => <Branch key={g.path} group={g} patterns={patterns} toggle={toggle} begin={all} all={all} />)}
          {group.leaves.map(l => <KeyLine key={l.key} leaf={l} patterns={patterns} toggle={toggle} />)}
        </ul>
      )}
    </li>
  )
}

function KeyLine({ leaf, patterns, toggle }: { leaf: Leaf; patterns: string[]; toggle: (pattern: string) => void }) {
  const by = wildcardOver(patterns, leaf.key)
  return (
    <li>
      <div className="row leaf">
        <label className="grow">
          <input type="checkbox" checked={by !== undefined || patterns.includes(leaf.key)} disabled={by !== undefined} onChange={() => toggle(leaf.key)} /> <span><Key of={leaf.key} /> <span className="small dim"><Name of={leaf.description} /></span></span>
        </label>
        {leaf.destructive && <span className="tag no">{t.roles.destructive}</span>}
        {by !== undefined && <span className="small dim">{r.by(visible(by))}</span>}
      </div>
    </li>
  )
}
