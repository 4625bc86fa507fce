/** What an anywidget host gives a view; the part that is used here. */
export interface Model {
  get(name: string): unknown;
  send(content: object): void;
  on(name: string, callback: (content: any) => void): void;
  off(name: string, callback: (content: any) => void): void;
  /** Of JupyterLab and of nbconvert's page; other hosts have none, or another one. */
  widget_manager?: { get_model?(id: string): Promise<{ comm_live?: boolean } | undefined> } | undefined;
}

export interface Rendering {
  model: Model;
  el: HTMLElement;
  signal?: AbortSignal;
}

/** Time and timers of the browser, or those of a test. */
export interface Time {
  now(): number;
  after(ms: number, fn: () => void): () => void;
}
