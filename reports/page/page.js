// What a report does when it is opened: tables that are sorted and filtered, links to rows, light and dark.
// Texts of the data become text nodes, never markup. Without this script the rest of the page can still be read.
'use strict';
(() => {
  const kRow = 30;        // height of a row in pixels, as in page.css
  const kAround = 15;     // rows drawn above and below those in sight
  const kPrinted = 2000;  // rows of a table that are printed
  const kWrapped = 100;   // rows of a table that is drawn as a whole, each as high as its text

  const element = (name, properties = {}, ...children) => {
    const e = Object.assign(document.createElement(name), properties);
    e.append(...children);
    return e;
  };

  // ---- Numbers ----
  const plain = (x, digits = 3) => {
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(1);
    return size >= 100 ? Math.round(x).toLocaleString('en') : String(+x.toPrecision(digits));
  };
  const units = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
  const formats = {
    count: x => x.toLocaleString('en'),
    number: x => x === Infinity ? 'infinite' : plain(x),
    percent: x => x === 0 ? '0' : x < 0.1 ? '<0.1%' : plain(x) + '%',
    ratio: x => x.toFixed(3) + '×',
    time: x => {
      const [name, size] = units.find(u => x >= u[1]) || units[3];
      return plain(x / size) + ' ' + name;
    },
  };

  // ---- Light and dark ----
  const kThemes = ['auto', 'light', 'dark'];
  const stored = () => { try { return localStorage.getItem('assay-theme'); } catch { return null; } };
  const use_theme = theme => {
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById('theme');
    button.textContent = {auto: '◐ auto', light: '○ light', dark: '● dark'}[theme];
    button.setAttribute('aria-label', `Colours: ${theme}. Change`);
    try { localStorage.setItem('assay-theme', theme); } catch { /* private windows have no storage */ }
  };
  const start_theme = () => {
    const theme = stored();
    use_theme(kThemes.includes(theme) ? theme : 'auto');
    document.getElementById('theme').addEventListener('click', () => {
      use_theme(kThemes[(kThemes.indexOf(document.documentElement.dataset.theme) + 1) % kThemes.length]);
    });
  };

  // ---- Copying ----
  const copy = async (text, button) => {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = 'copied';
    } catch {
      const field = element('textarea', {value: text, className: 'aside'});
      document.body.append(field);
      field.select();
      button.textContent = document.execCommand('copy') ? 'copied' : 'select and copy it';
      field.remove();
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  };
  const start_copying = () => document.addEventListener('click', event => {
    const button = event.target.closest('button.copy');
    if (button) copy(button.dataset.link ? location.href.split('#')[0] + button.dataset.link
                                         : button.previousElementSibling.textContent, button);
  });
  const add_copy_buttons = root => {
    for (const code of root.querySelectorAll('code.command'))
      if (!code.nextElementSibling?.classList.contains('copy'))
        code.after(element('button', {className: 'copy', type: 'button', textContent: 'copy'}));
  };

  // ---- What is known of one row ----
  const drawer = document.getElementById('detail');
  let opened_from = null;
  const close_drawer = () => {
    if (drawer.hidden) return;
    drawer.hidden = true;
    document.body.classList.remove('with-detail');
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
    for (const grid of grids) grid.select(-1);
    opened_from?.focus({preventScroll: true});
  };
  const open_drawer = (grid, row) => {
    const list = element('dl');
    for (const {title, key} of [...grid.data.columns, ...grid.data.more]) {
      const text = grid.text(key, row);
      if (text !== '') list.append(element('dt', {textContent: title}), element('dd', {textContent: text}));
    }
    const close = element('button', {type: 'button', className: 'close', textContent: '✕'});
    close.setAttribute('aria-label', 'Close');
    close.addEventListener('click', close_drawer);
    const link = element('button', {type: 'button', className: 'copy', textContent: 'copy link to this row'});
    link.dataset.link = grid.link(row);
    drawer.replaceChildren(close, element('h3', {textContent: grid.name(row)}), link, list);
    for (const id of grid.shown_with(row)) {
      const shown = document.getElementById(id)?.cloneNode(true);
      if (!shown) continue;
      shown.removeAttribute('id');
      shown.querySelectorAll('[id]').forEach(e => e.removeAttribute('id'));
      drawer.append(shown);
    }
    add_copy_buttons(drawer);
    drawer.hidden = false;
    document.body.classList.add('with-detail');
    drawer.scrollTop = 0;
  };

  // ---- Tables ----
  // data: {id, noun, columns: [{key, title, kind, width}], more: [{key, title, kind}], keys, state: {key, names, marks, classes},
  // parts, drawn, cols: {key: {width, values, rows}}}: `values` are the distinct ones of a column, and `rows` says of each row which
  // it has, as a number of `width` digits to the base 90. html_table.cpp writes it.
  const kDigits = new Uint8Array(127);
  for (let code = 35, digit = 0; code <= 126; ++code)
    if (code !== 60 && code !== 92) kDigits[code] = digit++;
  const unpack = column => {
    const {width, rows} = column, places = new Uint32Array(rows.length / width);
    for (let row = 0, at = 0; row < places.length; ++row)
      for (let digit = 0, size = 1; digit < width; ++digit, size *= 90) places[row] += size * kDigits[rows.charCodeAt(at++)];
    return {values: column.values, places};
  };
  const in_order = rows => new Uint32Array(rows).map((_, row) => row);

  class Grid {
    constructor(root, data) {
      this.data = data;
      this.cols = Object.fromEntries(Object.entries(data.cols).map(([key, column]) => [key, unpack(column)]));
      this.kinds = Object.fromEntries([...data.columns, ...data.more].map(c => [c.key, c.kind]));
      this.rows = this.cols[data.keys[0]].places.length;
      this.order = in_order(this.rows);
      this.shown = this.order;
      this.selected = -1;
      this.printing = false;
      this.sorted = {key: null, down: false};
      this.hidden_states = new Set();
      this.build(root);
      this.filter();
    }

    value(key, row) { return this.cols[key].values[this.cols[key].places[row]]; }
    text(key, row) {
      const value = this.value(key, row), kind = this.kinds[key];
      if (value === null || value === undefined || kind === 'drawn') return '';
      if (kind === 'state') return this.data.state.names[value];
      return typeof value === 'string' ? value : formats[kind](value);
    }
    name(row) { return this.data.keys.map(k => this.text(k, row)).filter(t => t).join(' '); }
    link(row) {
      return '#' + this.data.id + ':' + this.data.keys.map(k => encodeURIComponent(this.text(k, row))).join(':');
    }
    // Static parts of the page that belong to the row.
    shown_with(row) {
      return Object.entries(this.data.parts).filter(([key]) => this.value(key, row) > 0).map(([key, id]) => id + this.value(key, row));
    }

    build(root) {
      const d = this.data;
      this.input = element('input', {type: 'search', placeholder: 'filter: words that a row must have', spellcheck: false});
      this.input.setAttribute('aria-label', `Filter ${d.noun}s`);
      this.input.addEventListener('input', () => this.filter());
      const counts = new Array(d.state.names.length).fill(0);
      const {values, places} = this.cols[d.state.key];
      for (const place of places) ++counts[values[place]];
      const boxes = counts.map((n, state) => {
        if (n === 0) return '';
        const box = element('input', {type: 'checkbox', checked: true});
        box.dataset.state = d.state.names[state];
        box.addEventListener('change', () => {
          if (box.checked) this.hidden_states.delete(state); else this.hidden_states.add(state);
          this.filter();
        });
        return element('label', {className: 'box'}, box, this.badge(state), ` ${d.state.names[state]} ${formats.count(n)}`);
      });
      this.peers = element('input', {type: 'checkbox', checked: true});
      this.peers.addEventListener('change', () => this.filter());
      if (this.cols.peer.values.includes(1)) boxes.push(element('label', {className: 'box'}, this.peers, ' peers'));
      this.status = element('span', {className: 'status'});
      this.status.setAttribute('role', 'status');

      const columns = element('colgroup');
      this.heads = new Map();
      const head = element('tr');
      for (const c of d.columns) {
        const column = element('col');
        if (c.key !== 'note') column.style.width = c.width + 'ch';  // it has what the others leave
        columns.append(column);
        const button = element('button', {type: 'button', textContent: c.title});
        button.addEventListener('click', () => this.sort(c.key));
        const cell = element('th', {className: this.is_number(c.kind) ? 'number' : ''}, button);
        cell.scope = 'col';
        cell.dataset.key = c.key;
        this.heads.set(c.key, cell);
        head.append(cell);
      }
      this.body = element('tbody');
      this.table = element('table', {}, columns, element('thead', {}, head), this.body);
      this.table.setAttribute('aria-rowcount', this.rows + 1);
      this.table.style.minWidth = d.columns.reduce((sum, c) => sum + c.width, 0) + 'ch';
      this.view = element('div', {className: 'view', tabIndex: 0}, this.table);
      this.view.setAttribute('role', 'region');
      this.view.setAttribute('aria-label', `All ${d.noun}s`);
      this.view.addEventListener('scroll', () => requestAnimationFrame(() => this.draw()), {passive: true});
      this.view.addEventListener('keydown', event => this.step(event));
      this.body.addEventListener('click', event => {
        const row = event.target.closest('tr')?.dataset.row;
        if (row === undefined || String(getSelection()) !== '') return;
        event.preventDefault();
        opened_from = this.view;
        location.hash = this.link(+row);
      });
      root.replaceChildren(element('div', {className: 'tools'}, this.input, ...boxes, this.status), this.view);
      new ResizeObserver(() => this.draw()).observe(this.view);
    }

    is_number(kind) { return !['text', 'state', 'drawn'].includes(kind); }
    badge(state) {
      return element('span', {className: 'badge ' + this.data.state.classes[state], textContent: this.data.state.marks[state]});
    }

    sort(key) {
      this.sorted = {key, down: this.sorted.key === key ? !this.sorted.down : this.is_number(this.kinds[key]) || key === this.data.state.key};
      for (const [k, cell] of this.heads)
        if (k === key) cell.setAttribute('aria-sort', this.sorted.down ? 'descending' : 'ascending');
        else cell.removeAttribute('aria-sort');
      // Ranks of the distinct values, those without a value last, either way.
      const {values, places} = this.cols[key], number = v => typeof v === 'string' ? Infinity : v;
      const less = this.kinds[key] === 'text' ? (a, b) => a < b : (a, b) => number(a) < number(b);
      const present = values.map((_, place) => place).filter(place => values[place] !== null);
      present.sort((a, b) => (less(values[a], values[b]) ? -1 : less(values[b], values[a]) ? 1 : 0) * (this.sorted.down ? -1 : 1));
      const rank = new Uint32Array(values.length).fill(values.length);
      present.forEach((place, i) => { rank[place] = i; });
      this.order = in_order(this.rows).sort((a, b) => rank[places[a]] - rank[places[b]] || a - b);
      this.filter();
    }

    filter() {
      const d = this.data, words = this.input.value.toLowerCase().split(/\s+/).filter(w => w);
      const everything = words.length === 0 && this.hidden_states.size === 0 && this.peers.checked;
      this.shown = everything ? this.order : this.rows_with(words);
      this.status.textContent = this.shown.length === this.rows ? `${formats.count(this.rows)} ${d.noun}s`
                                                                : `${formats.count(this.shown.length)} of ${formats.count(this.rows)} ${d.noun}s`;
      this.view.scrollTop = 0;
      this.draw();
    }

    rows_with(words) {
      const d = this.data;
      // Distinct texts are few: look into each of them once, not into every row.
      const texts = Object.keys(this.kinds).filter(key => this.kinds[key] === 'text').map(key => this.cols[key]);
      const lower = texts.map(column => column.lower ??= column.values.map(v => v === null ? '' : v.toLowerCase()));
      const found = words.map(w => texts.map((column, i) => ({places: column.places, match: lower[i].map(text => text.includes(w))})));
      const in_state = words.map(w => d.state.names.map(n => n.includes(w)));
      const states = this.cols[d.state.key], peers = this.cols.peer;
      return this.order.filter(row => {
        const state = states.values[states.places[row]];
        return !this.hidden_states.has(state) && (this.peers.checked || !peers.values[peers.places[row]]) &&
          found.every((columns, w) => in_state[w][state] || columns.some(c => c.match[c.places[row]]));
      });
    }

    line(at) {
      const row = this.shown[at];
      const line = element('tr', {className: (row === this.selected ? 'selected' : '') + (this.value('peer', row) ? ' peer' : '')});
      line.dataset.row = row;
      line.setAttribute('aria-rowindex', at + 2);
      this.data.columns.forEach((c, i) => {
        const cell = element('td'), text = this.text(c.key, row);
        if (c.kind === 'state') cell.append(this.badge(this.value(c.key, row)), ' ', text);
        else if (i === 0) cell.append(element('a', {href: this.link(row), textContent: text}));
        else cell.textContent = text;
        if (c.kind === 'drawn') this.draw_in(cell, row);
        if (this.is_number(c.kind)) cell.className = 'number';
        if (c.key === 'note') cell.className = 'why';
        if (c.kind === 'text' && text.length > c.width) cell.title = text;
        line.append(cell);
      });
      return line;
    }
    // A small picture that stands elsewhere in the page.
    draw_in(cell, row) {
      const n = this.value(this.data.drawn.key, row);
      const picture = n > 0 && document.querySelector('#' + this.data.drawn.id + n + ' svg')?.cloneNode(true);
      if (picture) cell.append(picture);
    }

    draw() {
      const wrapped = this.shown.length <= kWrapped, all = this.printing || wrapped;
      this.table.classList.toggle('wrapped', wrapped);
      const pad = rows => {
        const cell = element('td', {colSpan: this.data.columns.length});
        cell.style.height = rows * kRow + 'px';
        return element('tr', {className: 'pad', ariaHidden: true}, cell);
      };
      const first = all ? 0 : Math.max(0, Math.floor(this.view.scrollTop / kRow) - kAround);
      const end = Math.min(this.shown.length, all ? kPrinted : first + Math.ceil(this.view.clientHeight / kRow) + 2 * kAround);
      const lines = [];
      for (let at = first; at < end; ++at) lines.push(this.line(at));
      if (first > 0) lines.unshift(pad(first));
      if (end < this.shown.length)
        lines.push(all ? element('tr', {}, element('td', {colSpan: this.data.columns.length,
                     textContent: `and ${formats.count(this.shown.length - end)} more, which are not printed`}))
                       : pad(this.shown.length - end));
      if (this.shown.length === 0)
        lines.push(element('tr', {className: 'none'}, element('td', {colSpan: this.data.columns.length, textContent: 'no row has all of this'})));
      this.body.replaceChildren(...lines);
    }

    select(row) {
      this.selected = row;
      this.draw();
    }

    // The row of a link, or -1.
    find(hash) {
      if (!hash.startsWith(this.data.id + ':')) return -1;
      const parts = hash.slice(this.data.id.length + 1).split(':');
      if (parts.length !== this.data.keys.length) return -1;
      let wanted;
      try { wanted = parts.map(decodeURIComponent); } catch { return -1; }
      for (let row = 0; row < this.rows; ++row)
        if (this.data.keys.every((k, i) => this.text(k, row) === wanted[i])) return row;
      return -1;
    }

    show(row) {
      let at = this.shown.indexOf(row);
      if (at < 0) {  // a filter hides it
        this.input.value = '';
        this.hidden_states.clear();
        this.view.parentElement.querySelectorAll('.tools input[type=checkbox]').forEach(box => { box.checked = true; });
        this.filter();
        at = this.shown.indexOf(row);
      }
      const drawn = this.shown.length <= kWrapped && this.body.children[at];
      const top = drawn ? drawn.offsetTop : at * kRow, height = this.view.clientHeight - 2 * kRow;
      if (top < this.view.scrollTop || top > this.view.scrollTop + height) this.view.scrollTop = top - height / 2;
      this.select(row);
      open_drawer(this, row);
    }

    step(event) {
      const by = {ArrowDown: 1, ArrowUp: -1}[event.key], at = this.shown.indexOf(this.selected) + by;
      if (!by || this.selected < 0 || at < 0 || at >= this.shown.length) return;
      event.preventDefault();
      history.replaceState(null, '', this.link(this.shown[at]));
      this.show(this.shown[at]);
    }
  }

  const grids = [];
  // "#r:OP:KERNEL:DTYPE" is a row, "#find-r:WORDS" all rows with these words.
  const follow = () => {
    const hash = location.hash.slice(1);
    for (const grid of grids) {
      const row = grid.find(hash);
      if (row >= 0) {
        grid.show(row);
        grid.view.scrollIntoView({block: 'nearest'});
        return;
      }
      if (hash.startsWith('find-' + grid.data.id + ':')) {
        try { grid.input.value = decodeURIComponent(hash.slice(grid.data.id.length + 6)); } catch { return; }
        grid.filter();
        grid.view.closest('section').scrollIntoView();
      }
    }
  };

  document.documentElement.classList.add('scripted');
  start_theme();
  start_copying();
  add_copy_buttons(document);
  for (const root of document.querySelectorAll('div.grid'))
    grids.push(new Grid(root, JSON.parse(document.getElementById(root.dataset.rows).textContent)));
  addEventListener('hashchange', follow);
  addEventListener('keydown', event => { if (event.key === 'Escape') close_drawer(); });
  for (const [event, printing] of [['beforeprint', true], ['afterprint', false]])
    addEventListener(event, () => grids.forEach(grid => {
      grid.printing = printing;
      grid.draw();
    }));
  // Paper cannot be opened: what is closed on the screen is printed, and closed again.
  let closed = [];
  addEventListener('beforeprint', () => {
    closed = [...document.querySelectorAll('details:not([open])')];
    for (const part of closed) part.open = true;
  });
  addEventListener('afterprint', () => {
    for (const part of closed) part.open = false;
    closed = [];
  });
  follow();
  document.documentElement.dataset.ready = '1';
})();
