"""What a third party tests with: ``StoreSuite`` states what a store is.

    class TestMyStore(StoreSuite):
        @pytest.fixture
        async def store(self):
            store = MyStore(...)
            await store.open()
            yield store
            await store.close()

Needs pytest, pytest-asyncio (``asyncio_mode = "auto"``) and hypothesis. Nothing of memscope imports this package.
"""
