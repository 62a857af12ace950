import { parseSubject } from '../domain/subjects.ts'
import type { Picture, Steps } from '../domain/explanation.ts'
import { visible } from '../domain/visible.ts'
import { t } from '../text/en.ts'

const columns = [8, 168, 340, 500, 672] as const
const widths = [136, 148, 136, 148, 152] as const
const chainAt = 852
const top = 30
const lane = 58
const box = 42

/** The end of a text that has no room tells more than its middle. */
function fit(text: string, width: number, mono = false): string {
  const shown = visible(text)
  const most = Math.floor((width - 18) / (mono ? 7 : 6.6))
  if (shown.length <= most) return shown
  const head = Math.floor(most * 0.4)
  return shown.slice(0, head) + '…' + shown.slice(shown.length - (most - head - 1))
}

function label(of: string): string {
  const { kind, id } = parseSubject(of)
  return kind === 'everyone' ? t.subject.everyone : id
}

/** The ways of an explanation, drawn. Its list tells the same, so this is hidden from readers of screens. */
export function PathPicture({ picture: p, steps: s }: { picture: Picture; steps: Steps }) {
  const steps = s.chain.length
  const chainStep = steps > 6 ? 21 : 26
  const ways = p.lanes * lane - (lane - box)
  const chain = steps * chainStep - 8
  const height = top + Math.max(ways, chain) + 4
  const first = top + (height - 4 - top - ways) / 2
  const y = (n: number, of: number) => first + n * lane + (column0(of) ? ((p.lanes - 1) * lane) / 2 : 0) + box / 2
  const column0 = (of: number) => of === 0 || of === 4
  const middle = (i: number) => y(p.nodes[i]!.lane, p.nodes[i]!.column)
  const granted = new Set(s.routes.map(r => r.grant.scope))
  const revoked = new Set(s.revokes.map(r => r.scope))
  const allowed = s.reason === 'granted' || s.reason === 'implied'
  return (
    <div className="picture" aria-hidden="true">
      <svg viewBox={`0 0 1040 ${height}`} width="1040" height={height}>
        {t.explain.columns.map((title, i) => <text className="h" key={title} x={columns[i]} y={14}>{title}</text>)}
        <text className="h" x={chainAt} y={14}>{t.explain.chain}</text>
        {p.lines.map(({ from, to, revoke }) => {
          const a = p.nodes[from]!
          const b = p.nodes[to]!
          const x1 = columns[a.column] + widths[a.column]
          const x2 = columns[b.column]
          const bend = (x2 - x1) / 2
          return <path key={`${from} ${to}`} className={revoke ? 'r' : allowed ? '' : 'off'} d={`M${x1} ${middle(from)}C${x1 + bend} ${middle(from)} ${x2 - bend} ${middle(to)} ${x2} ${middle(to)}`} />
        })}
        {p.nodes.map((n, i) => {
          const w = widths[n.column]
          const x = columns[n.column]
          const m = middle(i)
          const mono = n.kind === 'grant' || n.kind === 'revoke' || n.kind === 'key' || (n.kind === 'right' && !n.detail)
          const [one, two] = lines(n)
          return (
            <g key={i} className={n.kind}>
              <rect className={column0(n.column) ? 'end' : ''} x={x} y={m - box / 2} width={w} height={box} rx={7} />
              <text className={mono ? 'm' : ''} x={x + 9} y={two ? m - 2 : m + 4}>{fit(one, w, mono)}</text>
              {two && <text className="d" x={x + 9} y={m + 13}>{fit(two, w)}</text>}
            </g>
          )
        })}
        {steps > 1 && <path className="chain" d={`M${chainAt + 6} ${top + 6}V${top + 6 + (steps - 1) * chainStep}`} />}
        {s.chain.map((scope, i) => (
          <g key={scope}>
            <circle className={revoked.has(scope) ? 'r' : granted.has(scope) ? 'g' : ''} cx={chainAt + 6} cy={top + 6 + i * chainStep} r={4.5} />
            <text className={scope === '*' ? '' : 'm'} x={chainAt + 20} y={top + 10 + i * chainStep}>{scope === '*' ? t.everywhere : fit(scope, 168, true)}</text>
          </g>
        ))}
      </svg>
    </div>
  )
}

function lines(n: Picture['nodes'][number]): [string, string] {
  switch (n.kind) {
    case 'principal':
      return [label(n.label), t.subject[parseSubject(n.label).kind]]
    case 'member':
      return [label(n.label), n.detail ? t.explain.above(n.detail.split('\n').map(label)) : n.label === 'everyone' ? '' : t.subject[parseSubject(n.label).kind]]
    case 'direct':
      return [n.label, '']
    case 'grant':
      return [n.label === '*' ? t.everywhere : n.label, t.explain.grant]
    case 'revoke':
      return [n.label === '*' ? t.everywhere : n.label, n.detail ? t.explain.revoke : t.explain.taken]
    case 'right':
      return [n.label, n.detail]
    case 'key':
      return [n.label, n.detail === '*' ? t.everywhere : n.detail]
  }
}
