"""What makes each alert fire at some time, and a change of it that makes it quiet, by Prometheus's notation."""

CASES = {
    "NothingKnown": ({}, "4m", {"leadwire_database_up": "1x20"}),
    "DatabaseDown": ({"leadwire_database_up": "1x4 0x20"}, "7m", {"leadwire_database_up": "1x20"}),
    "WritesRefused": (
        {'leadwire_writes_refused{reason="DiskFullError"}': "0 9x20"},
        "4m",
        {'leadwire_writes_refused{reason="DiskFullError"}': "0 9 0 1 2x20"},
    ),
    "RedisDown": ({"leadwire_redis_up": "1x4 0x20"}, "7m", {"leadwire_redis_up": "1x4 0 1x20"}),
    "MigrationsMissing": ({"leadwire_migrations_missing": "0 2x20"}, "4m", {"leadwire_migrations_missing": "0 2 0x20"}),
    "RedisShared": ({"leadwire_installations_sharing": "0 1x20"}, "4m", {"leadwire_installations_sharing": "0 1 0x20"}),
    "EventsUnrelayed": (
        {"leadwire_unrelayed_oldest_seconds": "0 20+60x20"},
        "4m",
        {"leadwire_unrelayed_oldest_seconds": "29x20"},
    ),
    "DeliveriesOverdue": (
        {'leadwire_waiting_overdue_oldest_seconds{held_by="nothing"}': "0+60x20"},
        "6m",
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "0+60x20"},
    ),
    "WorkersIdle": (
        {'leadwire_stream_length{shard="0"}': "3x20", 'leadwire_stream_length{shard="1"}': "0x20"},
        "6m",
        {'leadwire_delivery_attempts_total{outcome="timeout"}': "0+1x20"},
    ),
    "NothingDelivered": (
        {'leadwire_endpoints_failing_ratio{cause="unreached"}': "0 1x20"},
        "4m",
        {'leadwire_endpoints_failing_ratio{cause="unreached"}': "0.34x20"},
    ),
    "EntriesHeld": (
        {'leadwire_stream_pending_overdue_seconds{shard="3"}': "0+60x20"},
        "6m",
        {'leadwire_stream_pending_overdue_seconds{shard="3"}': "90x20"},
    ),
    "WorkersBehind": (
        {'leadwire_stream_oldest_seconds{shard="3"}': "0+60x20"},
        "10m",
        {'leadwire_stream_oldest_seconds{shard="3"}': "50x20"},
    ),
    "WorkerWedged": (
        {
            'leadwire_deliveries_in_hand{job="leadwire",instance="a"}': "5x20",
            'leadwire_delivery_attempts_total{job="leadwire",instance="a",outcome="delivered"}': "70x20",
            'leadwire_deliveries_in_hand{job="leadwire",instance="b"}': "5x20",
            'leadwire_delivery_attempts_total{job="leadwire",instance="b",outcome="delivered"}': "0+60x20",
        },
        "10m",
        {'leadwire_delivery_attempts_total{job="leadwire",instance="a",outcome="delivered"}': "0+1x20"},
    ),
    "EndpointBacklog": (
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "2000+60x20"},
        "12m",
        {'leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}': "600x20"},
    ),
    "LedgerImbalance": (
        {'leadwire_ledger_imbalance{check="queued_but_lost"}': "0 1x20"},
        "6m",
        {
            'leadwire_ledger_imbalance{check="queued_but_lost"}': "0 1 0x20",
            'leadwire_ledger_imbalance_remaining{check="dead_too_early"}': "0x20",
        },
    ),
    "ServerChanged": (
        {"leadwire_server_changed_seconds": "60+60x20"},
        "10m",
        {"leadwire_server_changed_seconds": "86400+60x20"},
    ),
    "DeliverySetAside": ({"leadwire_deliveries_aside": "0 1x20"}, "2m", {"leadwire_deliveries_aside": "0x20"}),
    "DeadLettersRising": (
        {'leadwire_dead_letters_made_total{reason="timeout"}': "0+30x20"},
        "10m",
        {'leadwire_dead_letters_made_total{reason="timeout"}': "0+3x20"},
    ),
    "MailsDead": (
        {'leadwire_mails_total{state="dead"}': "0+2x20"},
        "10m",
        {'leadwire_mails_total{state="dead"}': "0 0 1x20"},
    ),
    "EndpointDisabled": (
        {'leadwire_endpoints_disabled_total{reason="gone"}': "0 0 1x20"},
        "4m",
        {'leadwire_endpoints_disabled_total{reason="gone"}': "7x20"},
    ),
    "EntriesReclaimed": (
        {"leadwire_stream_entries_reclaimed_total": "0+10x20", "leadwire_attempts_fenced_total": "0x20"},
        "10m",
        {"leadwire_stream_entries_reclaimed_total": "0 5x20"},
    ),
    "DeliveriesReconciled": (
        {"leadwire_deliveries_reconciled_total": "0 0 40x20"},
        "4m",
        {"leadwire_deliveries_reconciled_total": "40x20"},
    ),
    "SnapshotHeld": (
        {'leadwire_oldest_snapshot_transactions{held_by="slot"}': "500001x20"},
        "8m",
        {
            'leadwire_oldest_snapshot_seconds{held_by="transaction"}': "1700x20",
            'leadwire_oldest_snapshot_transactions{held_by="slot"}': "500000x20",
            'leadwire_oldest_snapshot_transactions{held_by="transaction"}': "900000x20",
        },
    ),
    "SpaceLow": (
        {"leadwire_database_space_free_ratio": "0.09x20"},
        "3m",
        {"leadwire_database_space_free_ratio": "0.11x20"},
    ),
    "SlotBehind": (
        {"leadwire_slot_retained_bytes": "9000000000x20"},
        "15m",
        {"leadwire_slot_retained_bytes": "8000000000x20"},
    ),
    "FeedHeldBack": (
        {"leadwire_feed_held_back_seconds": "61+15x20"},
        "5m",
        {"leadwire_feed_held_back_seconds": "0 61 0 61 0 61 0 61 0"},
    ),
    "PartitionsMissing": ({"leadwire_partitions_ahead": "2x200"}, "150m", {"leadwire_partitions_ahead": "7x200"}),
    "PartitionsOverdue": ({"leadwire_partitions_overdue": "5x400"}, "370m", {"leadwire_partitions_overdue": "1x400"}),
    "ProcessMissing": (
        {f'leadwire_build_info{{role="{role}"}}': "1x20" for role in ("serve", "relay", "background")},
        "4m",
        {'leadwire_build_info{role="deliver"}': "1x20"},
    ),
    "TargetDown": ({'up{job="leadwire",instance="a"}': "1 0x20"}, "8m", {'up{job="leadwire",instance="a"}': "1x20"}),
    "ProcessRestarting": (
        {'process_start_time_seconds{job="leadwire",instance="a"}': "1 2 3 4 5x20"},
        "10m",
        {'process_start_time_seconds{job="leadwire",instance="a"}': "1 2x20"},
    ),
    "JobsLate": (
        {'leadwire_jobs_oldest_seconds{kind="search"}': "1000x20"},
        "6m",
        {'leadwire_jobs_oldest_seconds{kind="search"}': "800x20"},
    ),
    "JobsFailed": (
        {'leadwire_jobs_failed{kind="search"}': "2x20"},
        "6m",
        {'leadwire_jobs_failed{kind="search"}': "0x20"},
    ),
    "LoopFailing": (
        {'leadwire_loop_failures_total{loop="relay"}': "0+12x20"},
        "15m",
        {'leadwire_loop_failures_total{loop="relay"}': "0 12x20"},
    ),
    "LogLinesDropped": (
        {'leadwire_log_lines_dropped_total{job="leadwire",instance="a"}': "0+500x20"},
        "10m",
        {'leadwire_log_lines_dropped_total{job="leadwire",instance="a"}': "500x20"},
    ),
    "PoolExhausted": (
        {'leadwire_db_connections{job="leadwire",instance="a",state="awaited"}': "3x20"},
        "8m",
        {'leadwire_db_connections{job="leadwire",instance="a",state="awaited"}': "3 0 3 0 3 0 3 0 3"},
    ),
    "ApiSlow": (
        {
            'leadwire_http_request_duration_seconds_bucket{le="1.0"}': "0+90x30",
            'leadwire_http_request_duration_seconds_bucket{le="2.5"}': "0+100x30",
            'leadwire_http_request_duration_seconds_bucket{le="+Inf"}': "0+100x30",
            'leadwire_http_requests_total{status="200"}': "0+100x30",
        },
        "20m",
        {'leadwire_http_request_duration_seconds_bucket{le="1.0"}': "0+100x30"},
    ),
    "ApiErrors": (
        {
            'leadwire_http_requests_total{status="200"}': "0+100x70",
            'leadwire_http_requests_total{status="503"}': "0+2x70",
        },
        "65m",
        {
            'leadwire_http_requests_total{status="404"}': "0+90x70",
            'leadwire_http_requests_total{status="503"}': "0x70",
            'leadwire_connections_refused_total{limit="address"}': "0+2x70",
        },
    ),
    "LateDispatches": (
        {
            "leadwire_dispatch_delay_seconds_count": "0+100x70",
            'leadwire_dispatch_delay_seconds_bucket{le="5.0"}': "0+80x70",
        },
        "65m",
        {
            # A customer's server that fails has its first POST in time.
            'leadwire_dispatch_delay_seconds_bucket{le="5.0"}': "0+100x70",
            'leadwire_delivery_attempts_total{outcome="http_5xx"}': "0+100x70",
        },
    ),
}

ALONE = {"DeliveriesOverdue"}  # whose quiet series does not go with the loud one
