insert into "troupe_schema" ("version") values
  (1);
insert into "troupe_owners" ("app", "user_id", "thread_seq") values
  ('app', 'anna', 2),
  ('app', '"b\u0000b"', 1);
insert into "troupe_threads" ("owner", "thread_id", "seq", "version", "state", "open_calls", "checkpoint", "message_seq", "run_seq", "call_seq", "updated_at") values
  (1, 'thread-1', 1, 1, '{"a":1,"note":"\ud800"}', '[]', null, 4, 1, 1, 1013),
  (1, 'asking', 2, 1, '{}', '[{"callId":"c2","name":"book","agentName":"desk"}]', '{"v":1,"runId":"run-2","agentName":"desk","interrupts":[{"id":"c2#1","callId":"c2","kind":"approval","message":"Book it?","agentName":"desk"}],"saved":{"at":[]}}', 2, 0, 0, 1016),
  (2, 'thread-1', 1, 0, '{}', '[]', null, 0, 1, 0, 1010);
insert into "troupe_messages" ("thread", "seq", "message_id", "run_id", "message") values
  (1, 1, 'u1', 'run-1', '{"id":"u1","role":"user","content":"Hi"}'),
  (1, 2, 'a1', 'run-1', '{"id":"a1","role":"assistant","content":"","toolCalls":[{"id":"c1","name":"look","arguments":"{\"q\":\"sea\"}"}],"agentName":"desk"}'),
  (1, 3, 't1', 'run-1', '{"id":"t1","role":"tool","callId":"c1","name":"look","content":"blue"}'),
  (1, 4, 'a2', 'run-1', '{"id":"a2","role":"assistant","content":"Hello Anna\u0000 💥","agentName":"desk"}'),
  (2, 1, 'u2', 'run-2', '{"id":"u2","role":"user","content":"Book"}'),
  (2, 2, 'a3', 'run-2', '{"id":"a3","role":"assistant","content":"","toolCalls":[{"id":"c2","name":"book","arguments":"{}"}],"agentName":"desk"}');
insert into "troupe_processed" ("thread", "foreign_id") values
  (1, 'u1');
insert into "troupe_runs" ("thread", "seq", "owner", "run_id", "parent_run_id", "agent_name", "status", "text_length", "usage", "error", "started_at", "ended_at") values
  (1, 1, 1, 'run-1', null, 'desk', 'complete', 14, '{"inputTokens":7,"outputTokens":5,"cachedInputTokens":2}', null, 1, 4),
  (3, 1, 2, 'run-3', null, 'desk', 'generating', 0, null, null, 9, null);
insert into "troupe_run_texts" ("thread", "run_seq", "start", "text") values
  (1, 1, 0, 'Hello '),
  (1, 1, 6, '"Anna\u0000 💥"');
insert into "troupe_tool_calls" ("thread", "call_id", "seq", "run_id", "message_id", "name", "arguments", "status", "result", "started_at", "ended_at") values
  (1, 'c1', 1, 'run-1', 'a1', 'look', '{"q":"sea"}', 'complete', '{"content":"blue"}', 2, 3);
insert into "troupe_usage" ("thread", "span_id", "run_id", "model", "input_tokens", "output_tokens", "reasoning_tokens", "cached_input_tokens", "finish_reason", "message_id", "request_id") values
  (1, 's1', 'run-1', 'm', 7, 5, null, 2, 'stop', 'a1', null);
insert into "troupe_run_logs" ("thread", "run_id", "last_seq", "closed") values
  (1, 'run-1', 2, 1);
insert into "troupe_run_events" ("log", "first_seq", "last_seq", "events") values
  (1, 1, 2, '[{"type":"RUN_STARTED"},{"type":"RUN_FINISHED"}]');
insert into "troupe_leases" ("owner", "thread_id", "run_id", "expires_at", "cancel") values
  (2, 'thread-1', 'run-3', 61018, null);
